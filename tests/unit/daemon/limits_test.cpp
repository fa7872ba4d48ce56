#include "daemon/service/limits.h"

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(UidLimits, RequestsAreABucketOfOneSecond)
{
    ManualClock clock;
    clock.advance(seconds(100));
    UidLimits limits(clock);
    limits.set_limits({.requests_per_second_per_uid = 10});
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(limits.take_request(1000)) << i;
    }
    const auto refused = limits.take_request(1000);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::LimitReached);
    EXPECT_NE(refused.error().message.find("requests-per-second-per-uid"), std::string::npos);
    EXPECT_TRUE(limits.take_request(1001)) << "another user is not affected";
    clock.advance(milliseconds(100));
    EXPECT_TRUE(limits.take_request(1000));
    EXPECT_FALSE(limits.take_request(1000));
}

TEST(UidLimits, SessionsAndQueuePairsAreCountedAndGivenBack)
{
    ManualClock clock;
    UidLimits limits(clock);
    limits.set_limits({.sessions_per_uid = 2, .queue_pairs_per_uid = 10, .queue_pairs_per_session = 6});
    EXPECT_TRUE(limits.add_session(7));
    EXPECT_TRUE(limits.add_session(7));
    EXPECT_EQ(limits.add_session(7).error().code, ErrorCode::LimitReached);
    limits.remove_session(7);
    EXPECT_TRUE(limits.add_session(7));

    EXPECT_TRUE(limits.add_queue_pairs(7, 0, 6));
    EXPECT_FALSE(limits.add_queue_pairs(7, 6, 1)) << "six in this session already";
    EXPECT_FALSE(limits.add_queue_pairs(7, 0, 5)) << "all or nothing: ten per user";
    EXPECT_TRUE(limits.add_queue_pairs(7, 0, 4));
    limits.remove_queue_pairs(7, 4);
    EXPECT_TRUE(limits.add_queue_pairs(7, 0, 4));
}

TEST(UidLimits, RoomForSome)
{
    ManualClock clock;
    UidLimits limits(clock);
    limits.set_limits({.queue_pairs_per_uid = 10, .queue_pairs_per_session = 6});
    EXPECT_EQ(limits.room(7, 0).count, 6U);
    EXPECT_EQ(limits.entries(), 0U) << "asking leaves nothing";
    EXPECT_TRUE(limits.add_queue_pairs(7, 0, 5));
    EXPECT_EQ(limits.room(7, 5).count, 1U);
    EXPECT_EQ(limits.room(7, 5).limit.message,
              "this session has 5 queue pairs: the limit is 6 (`limits: queue-pairs-per-session` in rdma-qosd.yaml)");
    EXPECT_EQ(limits.room(7, 0).count, 5U);
    EXPECT_EQ(limits.room(7, 0).limit.message,
              "user 7 has 5 queue pairs: the limit is 10 (`limits: queue-pairs-per-uid` in rdma-qosd.yaml)");
    EXPECT_EQ(
        limits.add_queue_pairs(7, 5, 2).error().message,
        "no room for 2 more: this session has 5 queue pairs: the limit is 6 (`limits: queue-pairs-per-session` in "
        "rdma-qosd.yaml)");
    limits.set_limits({.queue_pairs_per_uid = 3, .queue_pairs_per_session = 3});
    EXPECT_EQ(limits.room(7, 5).count, 0U) << "a limit that was lowered";
}

TEST(UidLimits, ForgetsUsersThatHoldNothing)
{
    ManualClock clock;
    clock.advance(seconds(100));
    UidLimits limits(clock);
    limits.set_limits({});
    for (std::uint32_t uid = 0; uid < 1000; ++uid) {
        EXPECT_TRUE(limits.take_request(uid));
    }
    EXPECT_TRUE(limits.add_session(5));
    clock.advance(seconds(60));
    EXPECT_TRUE(limits.take_request(2000));
    EXPECT_EQ(limits.entries(), 2U);
}

}    // namespace
}    // namespace rdmaqos
