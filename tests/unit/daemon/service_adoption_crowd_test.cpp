// Many queue pairs at once: neither the loop nor other users wait for them.
#include "tests/unit/daemon/adoption_fixture.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;

// Moves on with every look at it: what a turn takes shows as a number of steps.
class TickingClock final : public Clock {
public:
    explicit TickingClock(const Clock& from) : from_(from) {}
    [[nodiscard]] TimePoint now() const override { return from_.now() + kTick * ++ticks_; }
    static constexpr Duration kTick = 10us;

private:
    const Clock& from_;
    mutable std::atomic<std::int64_t> ticks_ = 0;
};

class AdoptionCrowd : public test::AdoptionFixture {
protected:
    [[nodiscard]] const Clock& service_clock() const override { return ticking; }

    TickingClock ticking{loop.clock};
};

TEST_F(AdoptionCrowd, ManyNewsAreTakenInTurns)
{
    constexpr std::uint32_t kMany = 10000;
    constexpr std::uint64_t kMostInATurn = 100;    // half a millisecond of ticks, and some
    begin();
    std::vector<HostQueuePair> ready;
    for (std::uint32_t number = 1; number <= kMany; ++number) {
        HostQueuePair seen;
        seen.device = "mlx5_0";
        seen.tracked.number = number;
        seen.tracked.port = 1;
        seen.tracked.type = test::kKernelsRc;
        seen.owner = program(static_cast<pid_t>(1000 + number % 100), "somebody");
        ready.push_back(seen);
    }
    tell(ready);
    std::uint64_t before = 0;
    int rounds = 0;
    while (before < kMany && ++rounds < 20000) {
        const auto now = refused(kNoRule);
        ASSERT_LE(now - before, kMostInATurn);
        before = now;
        loop.advance(Duration(0));
    }
    EXPECT_EQ(before, kMany);
    EXPECT_GE(rounds, static_cast<int>(kMany / kMostInATurn));

    // So are those that have gone, and what is let go of at a reload.
    HostNews gone;
    for (std::uint32_t number = 1; number <= kMany; ++number) {
        gone.gone.emplace_back("mlx5_0", number);
    }
    watch->tell(gone);
    EXPECT_EQ(word(ready.back()), kNoRule) << "its turn has not come";
    ASSERT_TRUE(until([&] { return word(ready.back()) == kNotReady; }));
    EXPECT_EQ(word(ready.front()), kNotReady);
}

TEST_F(AdoptionCrowd, AReloadLetsGoInTurns)
{
    constexpr std::uint32_t kMany = 1000;
    begin();
    std::vector<HostQueuePair> ready;
    for (std::uint32_t number = 1; number <= kMany; ++number) {
        ready.push_back(make(program(100), number));
    }
    tell(ready);
    ASSERT_TRUE(until([&] { return service->adoption().status().queue_pairs == kMany; }));
    set_to("count");
    ASSERT_TRUE(reload().accepted);
    std::size_t before = kMany;
    std::size_t rounds = 0;
    while (before > 0 && ++rounds < 10000) {
        const std::size_t now = service->adoption().status().queue_pairs;
        ASSERT_LE(before - now, 100U);
        before = now;
        turn();
    }
    EXPECT_EQ(before, 0U);
    EXPECT_TRUE(until([&] { return service->sessions().ids().empty(); }));
}

using AdoptionTurns = test::AdoptionFixture;

// A user with thousands of them does not keep another one waiting.
TEST_F(AdoptionTurns, UsersHaveTheirTurns)
{
    constexpr std::uint32_t kMany = 1000;
    test::Gate gate;
    begin();
    files->before_answer = gate.waiter();
    std::vector<HostQueuePair> ready;
    for (std::uint32_t number = 1; number <= kMany; ++number) {
        ready.push_back(make(program(static_cast<pid_t>(100 + number % 100)), number));
    }
    tell(ready);
    ASSERT_TRUE(until([&] { return gate.holds(); }));
    tell({make(program(9000, "job", 2000), 9000)});
    gate.open();
    ASSERT_TRUE(comes_into("/rpc", 9000));
    // At most eight run at once; the next one to be begun was the second user's.
    const auto asked = programs->asked();
    const auto its = std::ranges::find(asked, 9000) - asked.begin();
    EXPECT_LE(its, 9);
    EXPECT_TRUE(until([&] { return service->adoption().status().counters.adopted == kMany + 1; }));
    EXPECT_EQ(service->adoption().status().queue_pairs, kMany + 1);
}

// Of one user, too: one program's jobs are done one after the other, and others go on meanwhile.
TEST_F(AdoptionTurns, AProgramDoesNotWaitForAnother)
{
    test::Gate gate;
    begin();
    add_nic("mlx5_1");
    programs->before_search = [wait = gate.waiter()](const std::string& device) {
        if (device == "mlx5_0") {
            wait();
        }
    };
    std::vector<HostQueuePair> two_jobs;
    for (std::uint32_t number = 1; number <= 100; ++number) {
        two_jobs.push_back(make(program(100), number));
    }
    tell(two_jobs);
    ASSERT_TRUE(until([&] { return gate.holds(); }));
    tell({make(program(200), 17, 0, "mlx5_1")});
    EXPECT_TRUE(comes_into("/rpc", 17, "mlx5_1/1"));
    gate.open();
    EXPECT_TRUE(until([&] { return service->adoption().status().counters.adopted == 101; }));
}

}    // namespace
}    // namespace rdmaqos
