#include "lib/bus/turns.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "tests/support/patience.h"

namespace rdmaqos::bus {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kUserAlice = 1000;
constexpr std::uint32_t kUserBob = 1001;
constexpr std::uint32_t kCarol = 1002;

// Readable until somebody reads it.
UniqueFd ready_descriptor()
{
    return UniqueFd(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
}

void work_for(Duration duration)
{
    for (const auto end = SteadyClock().now() + duration; SteadyClock().now() < end;) {
    }
}

class TurnsTest : public testing::Test {
protected:
    void make_last(std::uint32_t uid, Duration owed) { turns_.shares().spent(uid, owed, SteadyClock().now()); }
    template <typename Condition>
    void run_until(Condition condition)
    {
        ASSERT_TRUE(test::eventually([&] {
            loop_.run_once(10ms);
            return condition();
        }));
    }

    EventLoop loop_;
    Turns turns_{loop_};
};

TEST_F(TurnsTest, WorkOfAUserKeepsItsOrder)
{
    std::string done;
    for (const char c : std::string("abcdef")) {
        turns_.queue(kUserAlice, [&done, c] { done += c; });
    }
    run_until([&] { return done.size() == 6; });
    EXPECT_EQ(done, "abcdef");
}

TEST_F(TurnsTest, OthersDoNotWaitForWhoHasHadMuch)
{
    make_last(kUserAlice, 400ms);
    int of_alice = 0;
    for (int count = 0; count < 100; ++count) {
        turns_.queue(kUserAlice, [&] {
            work_for(1ms);
            ++of_alice;
        });
    }
    run_until([&] { return of_alice > 0; });    // nobody else wants anything
    const int before = of_alice;
    bool bob = false;
    turns_.queue(kUserBob, [&] { bob = true; });
    run_until([&] { return bob; });
    EXPECT_LE(of_alice, before + 1);
    run_until([&] { return of_alice == 100; });
}

TEST_F(TurnsTest, OfThoseWhoHaveHadMuchTheOneWhoHasHadLeastIsFirst)
{
    make_last(kUserAlice, 400ms);
    make_last(kUserBob, 100ms);
    make_last(kCarol, 300ms);
    std::string done;
    turns_.queue(kUserAlice, [&] { done += 'a'; });
    turns_.queue(kUserBob, [&] { done += 'b'; });
    turns_.queue(kCarol, [&] { done += 'c'; });
    run_until([&] { return done.size() == 3; });
    EXPECT_EQ(done, "bca");
}

TEST_F(TurnsTest, WhoHasHadMuchIsServedWhileOthersAlwaysHaveSomethingToDo)
{
    make_last(kUserAlice, 400ms);
    const auto endless = ready_descriptor();
    int rounds = 0;
    const auto source = loop_.on_io(endless.get(), EPOLLIN, [&](std::uint32_t) {
        work_for(1ms);
        ++rounds;
        turns_.give_way();
    });
    ASSERT_TRUE(source);
    bool alice = false;
    turns_.queue(kUserAlice, [&] { alice = true; });
    run_until([&] { return alice; });
    EXPECT_LE(rounds, 10);
}

TEST_F(TurnsTest, TheWorkIsChargedToItsUser)
{
    bool done = false;
    turns_.queue(kUserAlice, [&] {
        // Time of the processor, which is what is charged: this machine may do something else meanwhile.
        for (const auto end = Shares::working_time() + 200ms; Shares::working_time() < end;) {
        }
        done = true;
    });
    run_until([&] { return done; });
    EXPECT_GT(turns_.shares().owed(kUserAlice, SteadyClock().now()), 20ms);
    EXPECT_EQ(turns_.shares().owed(kUserBob, SteadyClock().now()), 0ms);
}

TEST_F(TurnsTest, DescriptorsOfAUserTakeTurns)
{
    std::array<UniqueFd, 5> descriptors;
    std::array<int, 5> calls{};
    std::vector<std::unique_ptr<IoSource>> sources;
    for (std::size_t index = 0; index < descriptors.size(); ++index) {
        descriptors[index] = ready_descriptor();
        auto source = turns_.on_io(kUserAlice, descriptors[index].get(), EPOLLIN, [&calls, index](std::uint32_t) {
            work_for(200us);
            ++calls[index];
        });
        ASSERT_TRUE(source);
        sources.push_back(std::move(*source));
    }
    run_until([&] { return calls[0] + calls[1] + calls[2] + calls[3] + calls[4] >= 100; });
    const auto [least, most] = std::ranges::minmax(calls);
    EXPECT_LE(most, least + 2);
}

TEST_F(TurnsTest, EventsCanBeChanged)
{
    const auto descriptor = ready_descriptor();
    std::vector<std::uint32_t> seen;
    std::unique_ptr<IoSource> source;
    auto made = turns_.on_io(kUserAlice, descriptor.get(), 0, [&](std::uint32_t events) {
        seen.push_back(events);
        source->set_events(0);
    });
    ASSERT_TRUE(made);
    source = std::move(*made);
    loop_.run_once(20ms);
    EXPECT_TRUE(seen.empty());
    source->set_events(EPOLLIN);
    run_until([&] { return !seen.empty(); });
    loop_.run_once(20ms);
    EXPECT_EQ(seen, std::vector<std::uint32_t>{EPOLLIN});
}

TEST_F(TurnsTest, ASourceMayEndInItsOwnCallbackAndEndOthers)
{
    const auto first = ready_descriptor();
    const auto second = ready_descriptor();
    std::array<std::unique_ptr<IoSource>, 2> sources;
    int calls = 0;
    for (std::size_t index = 0; index < sources.size(); ++index) {
        auto source = turns_.on_io(kUserAlice, (index == 0 ? first : second).get(), EPOLLIN, [&](std::uint32_t) {
            ++calls;
            sources = {};
        });
        ASSERT_TRUE(source);
        sources[index] = std::move(*source);
    }
    run_until([&] { return calls > 0; });
    loop_.run_once(20ms);
    EXPECT_EQ(calls, 1);
    // The user was forgotten, and comes again.
    bool again = false;
    turns_.queue(kUserAlice, [&] { again = true; });
    run_until([&] { return again; });
}

TEST_F(TurnsTest, AnExceptionIsTheEndOfItsCallbackOnly)
{
    bool next = false;
    turns_.queue(kUserAlice, [] { throw std::runtime_error("on purpose"); });
    turns_.queue(kUserAlice, [&] { next = true; });
    run_until([&] { return next; });
}

TEST_F(TurnsTest, WhatWaitsIsDroppedWithTheTurns)
{
    bool done = false;
    {
        Turns turns(loop_);
        turns.queue(kUserAlice, [&] { done = true; });
        turns.shares().spent(kUserBob, 400ms, SteadyClock().now());
        turns.queue(kUserBob, [&] { done = true; });
    }
    loop_.run_once(20ms);
    loop_.run_once(20ms);
    EXPECT_FALSE(done);
}

}    // namespace
}    // namespace rdmaqos::bus
