// What is new in what the kernel lists: which queue pairs are ready, and which are no longer what they were.
#include "daemon/survey/seen_queue_pairs.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rdmaqos {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using Tracked = SeenQueuePairs::Tracked;
using State = QueuePairState;

Tracked seen(std::uint32_t number, std::optional<State> state = State::Rts, std::optional<std::uint32_t> remote = 500,
             std::uint32_t domain = 9)
{
    Tracked tracked;
    tracked.number = number;
    tracked.port = 1;
    tracked.type = 2;
    tracked.state = state;
    tracked.remote = remote;
    tracked.domain = domain;
    return tracked;
}

std::vector<std::uint32_t> numbers(const std::vector<Tracked>& all)
{
    std::vector<std::uint32_t> numbers;
    for (const auto& each : all) {
        numbers.push_back(each.number);
    }
    return numbers;
}

// From what it was to what it is, and what is said then of one that was ready at first.
TEST(SeenQueuePairs, WhatIsSaidOfOneThatWasReady)
{
    Tracked of_other_type = seen(17);
    of_other_type.type = 3;
    Tracked without_domain = seen(17);
    without_domain.domain.reset();
    struct Case {
        const char* what;
        Tracked before;
        Tracked now;
        bool gone;
        bool ready;
    };
    const Case cases[] = {
        {"as it was", seen(17), seen(17), false, false},
        {"in another domain", seen(17), seen(17, State::Rts, 500, 10), true, true},
        {"in no domain that is told", seen(17), without_domain, true, true},
        {"of another type", seen(17), of_other_type, true, true},
        {"with another peer", seen(17), seen(17, State::Rts, 501), true, true},
        {"without its peer", seen(17), seen(17, State::Rts, std::nullopt), true, true},
        {"with a peer at last", seen(17, State::Rts, std::nullopt), seen(17), false, false},
        {"reset", seen(17), seen(17, State::Reset), true, false},
        {"on its way again", seen(17), seen(17, State::Init), true, false},
        {"nearly there again", seen(17), seen(17, State::Rtr), true, false},
        {"draining", seen(17), seen(17, State::Sqd), false, false},
        {"with a failed send queue", seen(17), seen(17, State::Sqe), false, false},
        {"failed", seen(17), seen(17, State::Error), false, false},
        {"in a state that is not known", seen(17), seen(17, std::nullopt), false, false},
    };
    for (const bool alone : {false, true}) {
        for (const auto& each : cases) {
            SeenQueuePairs all;
            ASSERT_THAT(numbers(all.take_all({each.before}).ready), ElementsAre(17));
            const auto news = alone ? all.take(each.now) : all.take_all({each.now});
            EXPECT_EQ(news.gone, each.gone ? std::vector<std::uint32_t>{17} : std::vector<std::uint32_t>())
                << each.what;
            EXPECT_EQ(news.ready, each.ready ? std::vector{each.now} : std::vector<Tracked>()) << each.what;
            EXPECT_EQ(!all.pending().empty(), each.gone && !each.ready) << each.what;
            EXPECT_TRUE((alone ? all.take(each.now) : all.take_all({each.now})).empty()) << each.what << ", told once";
        }
    }
}

TEST(SeenQueuePairs, OnItsWay)
{
    SeenQueuePairs all;
    Tracked fresh = seen(17, State::Reset, std::nullopt);
    fresh.port = 0;
    EXPECT_TRUE(all.take_all({fresh, seen(18, State::Init)}).empty());
    EXPECT_THAT(all.pending(), UnorderedElementsAre(Pair(0, 17), Pair(1, 18)));
    EXPECT_TRUE(all.take(seen(17, State::Rtr)).empty());
    EXPECT_THAT(all.pending(), UnorderedElementsAre(Pair(1, 17), Pair(1, 18)));
    EXPECT_THAT(numbers(all.take(seen(17)).ready), ElementsAre(17));
    EXPECT_THAT(all.pending(), ElementsAre(Pair(1, 18)));
    EXPECT_THAT(numbers(all.ready()), ElementsAre(17));
    const auto news = all.take_all({seen(17)});
    EXPECT_TRUE(news.empty()) << "18 was never ready";
    EXPECT_TRUE(all.pending().empty());
    EXPECT_THAT(all.pending(), IsEmpty());
    EXPECT_EQ(all.size(), 1U);
}

TEST(SeenQueuePairs, ThoseOfTheKernelArePassedOver)
{
    SeenQueuePairs all;
    Tracked of_kernel = seen(1);
    of_kernel.kernel_name = "ib_core";
    EXPECT_THAT(numbers(all.take_all({of_kernel, seen(17)}).ready), ElementsAre(17));
    EXPECT_EQ(all.size(), 1U);
    of_kernel.number = 17;
    EXPECT_THAT(all.take_all({of_kernel}).gone, ElementsAre(17)) << "the kernel has its number now";
    EXPECT_EQ(all.size(), 0U);
}

TEST(SeenQueuePairs, AllThatAreReadyOnceMore)
{
    SeenQueuePairs all;
    all.take_all({seen(19), seen(17), seen(18, State::Init), seen(20)});
    all.take(seen(20, State::Error));
    EXPECT_THAT(numbers(all.ready()), ElementsAre(17, 19)) << "one that failed can send no more";
    EXPECT_TRUE(all.take_all({seen(17), seen(18, State::Init), seen(19), seen(20, State::Error)}).empty());
    EXPECT_THAT(all.take_all({}).gone, ElementsAre(17, 19, 20));
}

// Who does what the news say has at all times those that are ready and have not been reset since, as they are.
RC_GTEST_PROP(SeenQueuePairsProperty, NewsAddUp, ())
{
    SeenQueuePairs all;
    std::map<std::uint32_t, Tracked> there;    // of programs
    std::map<std::uint32_t, Tracked> held;     // as they were told
    const auto hear = [&](const SeenQueuePairs::News& news) {
        for (const std::uint32_t number : news.gone) {
            RC_ASSERT(held.erase(number) == 1);
        }
        for (const auto& ready : news.ready) {
            RC_ASSERT(ready.state == State::Rts);
            RC_ASSERT(ready == there.at(ready.number));
            RC_ASSERT(held.emplace(ready.number, ready).second);
        }
        std::set<std::pair<std::uint32_t, std::uint32_t>> pending;
        std::vector<std::uint32_t> can_send;
        for (const auto& [number, now] : there) {
            const auto told = held.find(number);
            if (told == held.end()) {
                RC_ASSERT(now.state != State::Rts);
                pending.emplace(now.port, number);
                continue;
            }
            RC_ASSERT(now.state != State::Reset && now.state != State::Init && now.state != State::Rtr);
            RC_ASSERT(now.domain == told->second.domain && now.type == told->second.type);
            RC_ASSERT(!told->second.remote || now.remote == told->second.remote);
            if (now.state == State::Rts) {
                can_send.push_back(number);
            }
        }
        for (const auto& [number, told] : held) {
            RC_ASSERT(there.contains(number));
        }
        const auto said = all.pending();
        RC_ASSERT(std::set(said.begin(), said.end()) == pending);
        RC_ASSERT(said.size() == pending.size());
        RC_ASSERT(all.size() == there.size());
        RC_ASSERT(numbers(all.ready()) == can_send);
    };
    const auto any = [](std::uint32_t number) {
        Tracked tracked = seen(number, *rc::gen::element<std::optional<State>>(State::Reset, State::Init, State::Rtr,
                                                                               State::Rts, State::Rts, State::Rts,
                                                                               State::Sqd, State::Error, std::nullopt));
        tracked.remote = *rc::gen::element<std::optional<std::uint32_t>>(std::nullopt, 500, 501);
        tracked.domain = *rc::gen::element<std::uint32_t>(9, 9, 9, 10);
        tracked.type = *rc::gen::element<std::uint8_t>(2, 2, 2, 4);
        tracked.port = tracked.state == State::Reset ? 0 : 1;
        return tracked;
    };
    const int steps = *rc::gen::inRange(1, 40);
    for (int step = 0; step < steps; ++step) {
        if (*rc::gen::inRange(0, 3) == 0) {
            // One that was asked for alone; only what was seen is asked for.
            if (!there.empty()) {
                const auto known = *rc::gen::elementOf(std::vector(there.begin(), there.end()));
                there[known.first] = any(known.first);
                hear(all.take(there[known.first]));
            }
            continue;
        }
        std::vector<Tracked> listed;
        const auto before = std::exchange(there, {});
        for (std::uint32_t number = 1; number <= 6; ++number) {
            switch (*rc::gen::inRange(0, 5)) {
            case 0:
                break;    // it is not there
            case 1: {
                Tracked of_kernel = any(number);
                of_kernel.kernel_name = "ib_core";
                listed.push_back(of_kernel);
                break;
            }
            case 2:
                listed.push_back(there[number] = any(number));
                break;
            default:
                if (const auto same = before.find(number); same != before.end()) {
                    listed.push_back(there[number] = same->second);
                }
                break;
            }
        }
        if (*rc::gen::arbitrary<bool>()) {
            std::ranges::reverse(listed);    // the kernel lists them in any order
        }
        hear(all.take_all(listed));
    }
}

}    // namespace
}    // namespace rdmaqos
