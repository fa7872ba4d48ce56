// All queue pairs of the host: the kernel's list, and what the daemon knows of each.
#include <atomic>
#include <stdexcept>

#include <gmock/gmock.h>

#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kLevels = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60}}
)";

class HostViewTest : public test::ServiceFixture {
protected:
    void begin()
    {
        policy(kLevels);
        survey_host = [this] {
            ++looks;
            if (fails) {
                throw std::runtime_error("a bug");
            }
            return seen;
        };
        start();
        ASSERT_TRUE(started.accepted) << started.to_text();
        add_device("mlx5_0");
    }
    void see(const std::string& device, std::uint32_t number, pid_t pid, const std::string& kernel = "")
    {
        rdma_netlink::TrackedQueuePair tracked;
        tracked.number = number;
        tracked.port = 1;
        tracked.type = 2;
        tracked.kernel_name = kernel;
        seen.queue_pairs.push_back({device, tracked, pid == 0 ? nullptr : process(pid)});
    }
    std::shared_ptr<const HostSurvey> survey()
    {
        auto got = answer<std::shared_ptr<const HostSurvey>>(
            [&](auto done) { service->host().survey(std::move(done)); });
        EXPECT_TRUE(got);
        return got ? *got : std::make_shared<const HostSurvey>();
    }
    HostStanding standing(std::size_t index)
    {
        const auto now = survey();
        return service->host().standing(now->queue_pairs.at(index));
    }
    HostCounts count()
    {
        const auto got = answer<HostView::Counted>([&](auto done) { service->host().count(std::move(done)); });
        EXPECT_TRUE(got);
        return got ? got->counts : HostCounts();
    }
    void join(std::uint32_t number, pid_t pid, const std::string& level = "rpc")
    {
        ASSERT_TRUE(
            register_as(PeerId{static_cast<std::uint64_t>(pid)}, process(pid), asking_for(level, "mlx5_0", {number})));
    }

    HostSurvey seen;
    std::atomic<int> looks = 0;
    std::atomic<bool> fails = false;
};

TEST_F(HostViewTest, EachIsInALeafOrThereIsAReason)
{
    see("mlx5_0", 1, 0, "ib_core");
    see("mlx5_0", 17, 100);
    see("mlx5_0", 18, 100);
    see("mlx5_0", 19, 200);
    see("mlx5_0", 20, 0);
    see("mlx5_0", 21, 300);
    see("rxe0", 22, 100);
    begin();
    join(17, 100);
    join(21, 300, "DEFAULT");
    EXPECT_EQ(standing(0).outside, kOfKernel);
    const auto inside = standing(1);
    EXPECT_EQ(inside.outside, "");
    EXPECT_EQ(inside.device, "mlx5_0/1");
    EXPECT_EQ(inside.result->leaf, "/rpc");
    EXPECT_EQ(inside.session, SessionId{1});
    EXPECT_EQ(standing(2).outside, kNotAttached);
    EXPECT_EQ(standing(3).outside, kUnregistered);
    EXPECT_EQ(standing(4).outside, kOwnerUnknown);
    EXPECT_EQ(standing(5).outside, kNothingAsked) << "attached, but its level has no schedule";
    EXPECT_EQ(standing(6).outside, kUnmanaged);
    EXPECT_THAT(count(),
                UnorderedElementsAre(Pair(Pair("mlx5_0/1", ""), 1), Pair(Pair("mlx5_0/1", kOfKernel), 1),
                                     Pair(Pair("mlx5_0/1", kNotAttached), 1), Pair(Pair("mlx5_0/1", kUnregistered), 1),
                                     Pair(Pair("mlx5_0/1", kOwnerUnknown), 1), Pair(Pair("mlx5_0/1", kNothingAsked), 1),
                                     Pair(Pair("rxe0", kUnmanaged), 1)));
}

// The session's queue pair was destroyed, and another process got its number.
TEST_F(HostViewTest, ANumberThatIsUsedAgainIsItsNewOwners)
{
    see("mlx5_0", 17, 200);
    begin();
    join(17, 100);
    EXPECT_EQ(standing(0).outside, kUnregistered);
    EXPECT_EQ(standing(0).session, std::nullopt);
}

TEST_F(HostViewTest, WhatTheKernelDoesNotTrackIsCountedWithItsSession)
{
    see("mlx5_0", 17, 100);
    begin();
    join(17, 100);
    join(30, 200);
    const auto known = service->host().standing(QueuePairName{"mlx5_0/1", 30});
    ASSERT_TRUE(known);
    EXPECT_EQ(known->standing.result->leaf, "/rpc");
    EXPECT_EQ(known->owner->pid, 200);
    EXPECT_THAT(count(), ElementsAre(Pair(Pair("mlx5_0/1", ""), 2)));
}

TEST_F(HostViewTest, TheKernelIsAskedOnceASecondAtMost)
{
    begin();
    survey();
    survey();
    EXPECT_EQ(looks, 1);
    loop.clock.advance(std::chrono::milliseconds(1001));
    int answered = 0;
    for (int i = 0; i < 10; ++i) {
        service->host().survey([&](const Result<std::shared_ptr<const HostSurvey>>&) { ++answered; });
    }
    EXPECT_TRUE(loop.run_until([&] { return answered == 10; }));
    EXPECT_EQ(looks, 2) << "all who ask meanwhile share a look";
}

TEST_F(HostViewTest, ALookThatFailsIsAnErrorAndTheNextOneIsTaken)
{
    begin();
    fails = true;
    const auto failed = answer<std::shared_ptr<const HostSurvey>>(
        [&](auto done) { service->host().survey(std::move(done)); });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::Internal);
    fails = false;
    see("mlx5_0", 17, 100);
    EXPECT_EQ(survey()->queue_pairs.size(), 1U);
}

// Sessions that come and go while they are counted are counted or not, and nothing else.
TEST_F(HostViewTest, EverySessionIsWalkedOnce)
{
    begin();
    for (std::uint32_t number = 1; number <= 300; ++number) {
        join(number, static_cast<pid_t>(1000 + number));
    }
    EXPECT_THAT(count(), ElementsAre(Pair(Pair("mlx5_0/1", ""), 300)));
    service->session_calls().peer_gone(PeerId{1001});
    settle();
    loop.clock.advance(std::chrono::milliseconds(1001));
    EXPECT_THAT(count(), ElementsAre(Pair(Pair("mlx5_0/1", ""), 299)));
}

TEST_F(HostViewTest, MetricsHaveTheCounts)
{
    see("mlx5_0", 17, 100);
    begin();
    std::optional<Metrics> metrics;
    service->metrics().collect([&](Metrics all) { metrics = std::move(all); });
    ASSERT_TRUE(loop.run_until([&] { return metrics.has_value(); }));
    EXPECT_THAT(metrics->host, ElementsAre(Pair(Pair("mlx5_0/1", kUnregistered), 1)));
}

}    // namespace
}    // namespace rdmaqos
