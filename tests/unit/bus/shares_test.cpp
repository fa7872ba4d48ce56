#include "lib/bus/shares.h"

#include <gtest/gtest.h>

namespace rdmaqos::bus {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kAlice = 1000;
constexpr std::uint32_t kBob = 1001;

TEST(Shares, WhoTakesMuchIsServedLastUntilItIsPaid)
{
    Shares shares;
    ManualClock clock;
    EXPECT_FALSE(shares.is_last(kAlice, clock.now()));
    shares.spent(kAlice, 30ms, clock.now());
    EXPECT_TRUE(shares.is_last(kAlice, clock.now()));
    EXPECT_FALSE(shares.is_last(kBob, clock.now())) << "nobody pays for another";
    clock.advance(150ms);
    EXPECT_TRUE(shares.is_last(kAlice, clock.now()));
    clock.advance(100ms);
    EXPECT_FALSE(shares.is_last(kAlice, clock.now()));
}

TEST(Shares, NobodyOwesForLong)
{
    Shares shares;
    ManualClock clock;
    shares.spent(kAlice, 1h, clock.now());
    clock.advance(5s);
    EXPECT_FALSE(shares.is_last(kAlice, clock.now()));
}

TEST(Shares, BytesAreCountedForEachAndForAll)
{
    Shares shares;
    shares.add_unfinished(shares.of(kAlice), 100);
    shares.add_unfinished(shares.of(kBob), 10);
    shares.add_unread(shares.of(kBob), 7);
    EXPECT_EQ(shares.of(kAlice).unfinished, 100U);
    EXPECT_EQ(shares.unfinished(), 110U);
    EXPECT_EQ(shares.unread(), 7U);
    shares.remove_unfinished(shares.of(kAlice), 100);
    shares.remove_unread(shares.of(kBob), 7);
    EXPECT_EQ(shares.unfinished(), 10U);
    EXPECT_EQ(shares.unread(), 0U);
}

TEST(Shares, WhoHasNothingIsForgotten)
{
    Shares shares;
    ManualClock clock;
    shares.of(kAlice).connections = 1;
    shares.settle(kAlice, clock.now());
    EXPECT_EQ(shares.of(kAlice).connections, 1U) << "it has a connection";
    shares.spent(kAlice, 20ms, clock.now());
    shares.of(kAlice).connections = 0;
    shares.settle(kAlice, clock.now());
    EXPECT_TRUE(shares.is_last(kAlice, clock.now())) << "reconnecting does not pay";
}

}    // namespace
}    // namespace rdmaqos::bus
