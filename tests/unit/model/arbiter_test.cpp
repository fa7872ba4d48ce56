#include "lib/model/arbiter.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "lib/model/class_solver.h"
#include "lib/model/solver.h"
#include "tests/unit/model/random_tree.h"
#include "tests/unit/model/trees.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using Time = Arbiter::Time;

constexpr Time kBurst = 2ms;
constexpr auto kGigabit = Bandwidth::from_gbps(1);

// Flows that always have something to send, or make it at a rate, in pieces of one size.
class Load {
public:
    explicit Load(Bandwidth link = kGigabit) : link_(link) { arbiter.set_link(link); }

    void add(Arbiter::FlowNumber number, Arbiter::ElementNumber leaf, std::size_t piece = 4096,
             std::optional<Bandwidth> demand = std::nullopt, std::optional<Bandwidth> cap = std::nullopt,
             std::uint8_t port_class = 0)
    {
        flows_[number] = {piece, demand, 0, 0};
        arbiter.set_flow(number, leaf, cap, port_class);
        arbiter.set_backlogged(number, !demand, now);
    }
    void stop(Arbiter::FlowNumber number)
    {
        arbiter.set_backlogged(number, false, now);
        flows_.erase(number);
    }
    void run(Time length)
    {
        const Time end = now + length;
        while (now < end) {
            make_work();
            const auto turn = arbiter.turn(now);
            if (turn.flow) {
                Flow& flow = flows_.at(*turn.flow);
                flow.sent += flow.piece;
                arbiter.sent(*turn.flow, flow.piece, now);
            } else {
                now = std::min({end, next_work(), turn.next.value_or(end)});
            }
        }
    }
    // In Mbit/s since the last call.
    std::map<Arbiter::FlowNumber, double> rates()
    {
        std::map<Arbiter::FlowNumber, double> all;
        for (auto& [number, flow] : flows_) {
            all[number] = static_cast<double>(flow.sent - flow.seen) * 8e3 / static_cast<double>((now - seen_).count());
            flow.seen = flow.sent;
        }
        seen_ = now;
        return all;
    }

    Arbiter arbiter{kBurst};
    Time now{0};

private:
    struct Flow {
        std::size_t piece = 0;
        std::optional<Bandwidth> demand;
        std::uint64_t sent = 0;
        std::uint64_t seen = 0;
    };

    // Evenly: the piece after `sent` is there at this time.
    [[nodiscard]] static Time due(const Flow& flow)
    {
        return Time(static_cast<std::int64_t>(static_cast<double>(flow.sent + flow.piece) * 8e6 /
                                              static_cast<double>(flow.demand->kbps())));
    }
    void make_work()
    {
        for (const auto& [number, flow] : flows_) {
            if (flow.demand) {
                arbiter.set_backlogged(number, due(flow) <= now, now);
            }
        }
    }
    [[nodiscard]] Time next_work() const
    {
        Time next = Time::max();
        for (const auto& [number, flow] : flows_) {
            if (flow.demand && due(flow) > now) {
                next = std::min(next, due(flow));
            }
        }
        return next;
    }

    const Bandwidth link_;
    std::map<Arbiter::FlowNumber, Flow> flows_;
    Time seen_{0};
};

TEST(Arbiter, NobodyHasAnythingToSend)
{
    Arbiter arbiter(kBurst);
    arbiter.set_link(kGigabit);
    EXPECT_FALSE(arbiter.turn(0ns).flow);
    EXPECT_FALSE(arbiter.turn(0ns).next);
    arbiter.set_flow(7, 0, std::nullopt);
    EXPECT_FALSE(arbiter.turn(0ns).flow);
    arbiter.set_backlogged(7, true, 0ns);
    EXPECT_EQ(arbiter.turn(0ns).flow, 7U);
    arbiter.set_backlogged(7, false, 0ns);
    EXPECT_FALSE(arbiter.turn(0ns).flow);
}

TEST(Arbiter, TheLinkIsAsFastAsItIs)
{
    Load load;
    load.add(1, 0);
    load.run(1s);
    EXPECT_NEAR(load.rates().at(1), 1'000, 3);
}

TEST(Arbiter, SharesHoldWhateverTheSizeOfThePieces)
{
    for (const auto& [small, large] : {std::pair(256U, 256U), {256U, 65536U}, {65536U, 256U}}) {
        Load load;
        load.arbiter.set_elements({{1, {0, 70, {}}}, {2, {0, 30, {}}}});
        load.add(1, 1, small);
        load.add(2, 2, large);
        load.run(1s);
        const auto rates = load.rates();
        EXPECT_NEAR(rates.at(1), 700, 5) << small << " and " << large;
        EXPECT_NEAR(rates.at(2), 300, 5) << small << " and " << large;
    }
}

TEST(Arbiter, FlowsOfALeafShareItAlike)
{
    Load load;
    load.arbiter.set_elements({{1, {0, 1, {}}}, {2, {0, 1, {}}}});
    load.add(100, 1);
    for (Arbiter::FlowNumber flow = 0; flow < 16; ++flow) {
        load.add(flow, 2, 1024 << flow % 3);
    }
    load.run(1s);
    const auto rates = load.rates();
    EXPECT_NEAR(rates.at(100), 500, 5);
    for (Arbiter::FlowNumber flow = 0; flow < 16; ++flow) {
        EXPECT_NEAR(rates.at(flow), 500.0 / 16, 1);
    }
}

TEST(Arbiter, WhoWasAwayGetsNothingBack)
{
    Load load;
    load.arbiter.set_elements({{1, {0, 1, {}}}, {2, {0, 1, {}}}});
    load.add(1, 1);
    load.run(1s);
    load.add(2, 2);
    static_cast<void>(load.rates());
    load.run(100ms);
    const auto rates = load.rates();
    EXPECT_NEAR(rates.at(1), 500, 10);
    EXPECT_NEAR(rates.at(2), 500, 10);
}

TEST(Arbiter, WhoWasCappedGetsNothingBack)
{
    Load load;
    load.arbiter.set_elements({{1, {0, 1, {}}}, {2, {0, 1, Bandwidth::from_mbps(10)}}});
    load.add(1, 1);
    load.add(2, 2);
    load.run(1s);
    EXPECT_NEAR(load.rates().at(2), 10, 0.5);
    load.arbiter.set_elements({{1, {0, 1, {}}}, {2, {0, 1, {}}}});
    load.run(100ms);
    EXPECT_NEAR(load.rates().at(1), 500, 10);
}

TEST(Arbiter, AFlowHasACapOfItsOwn)
{
    Load load;
    load.arbiter.set_elements({{1, {0, 1, Bandwidth::from_mbps(400)}}});
    load.add(1, 1, 4096, std::nullopt, Bandwidth::from_mbps(100));
    load.add(2, 1);
    load.run(1s);
    const auto rates = load.rates();
    EXPECT_NEAR(rates.at(1), 100, 2);
    EXPECT_NEAR(rates.at(2), 300, 4);
}

TEST(Arbiter, AnElementThatGoesLeavesItsFlowsToTheLink)
{
    Load load;
    load.arbiter.set_elements({{1, {0, 1, {}}}, {2, {1, 1, Bandwidth::from_mbps(100)}}, {3, {0, 3, {}}}});
    load.add(1, 2);
    load.add(2, 3);
    load.run(100ms);
    load.arbiter.set_elements({{3, {0, 3, {}}}});
    static_cast<void>(load.rates());
    load.run(100ms);
    EXPECT_NEAR(load.rates().at(1), 250, 10);
    load.arbiter.set_elements({});
    load.run(100ms);
    EXPECT_NEAR(load.rates().at(1), 500, 10);
    load.arbiter.remove_flow(1);
    load.arbiter.remove_flow(2);
    EXPECT_FALSE(load.arbiter.turn(load.now).flow);
}

TEST(Arbiter, ParentsThatMakeNoTreeHangFromTheLink)
{
    Load load;
    load.arbiter.set_elements({{1, {1, 1, {}}}, {2, {9, 1, {}}}});
    load.add(1, 1);
    load.add(2, 2);
    load.run(100ms);
    EXPECT_NEAR(load.rates().at(1), 500, 10);
}

TEST(Arbiter, ALinkThatGetsFasterIsFasterAtOnce)
{
    Load load{Bandwidth()};
    load.add(1, 0);
    load.run(1s);
    EXPECT_LT(load.rates().at(1), 1) << "but for the first piece";
    load.arbiter.set_link(kGigabit);
    load.run(1s);
    EXPECT_NEAR(load.rates().at(1), 1'000, 3);
}

TEST(Arbiter, CountsWhatWasSentBelowAnElement)
{
    Load load;
    load.arbiter.set_elements({{1, {0, 1, {}}}, {2, {1, 1, {}}}, {3, {1, 3, {}}}});
    load.add(1, 2, 1000);
    load.add(2, 3, 1000);
    load.run(100ms);
    const auto bytes = load.arbiter.bytes_of_elements();
    EXPECT_NEAR(static_cast<double>(bytes.at(1)), 12.5e6, 0.1e6) << "100 ms at 1 Gbit/s";
    EXPECT_EQ(bytes.at(1), bytes.at(2) + bytes.at(3));
    EXPECT_NEAR(static_cast<double>(bytes.at(3)), 3 * static_cast<double>(bytes.at(2)), 0.1e6);
}

// ---- when the last bit has left ----

constexpr std::size_t kMebibyte = 1 << 20;
constexpr std::size_t kPieceOfMebibyte = 16384;
constexpr Time kTimeOfMebibyte = 8'388'608ns;    // at 1 Gbit/s

// One message, sent as soon as the arbiter lets it; when its last bit has left.
Time send_mebibyte(Arbiter& arbiter, Arbiter::FlowNumber flow, Time now, Time late = 0ns)
{
    arbiter.set_backlogged(flow, true, now, late);
    for (std::size_t sent = 0; sent < kMebibyte; sent += kPieceOfMebibyte) {
        auto turn = arbiter.turn(now);
        if (!turn.flow) {
            now = turn.next.value();
            turn = arbiter.turn(now);
        }
        EXPECT_EQ(turn.flow, flow);
        now = arbiter.sent(flow, kPieceOfMebibyte, now);
    }
    arbiter.expect(flow, now);
    return now;
}

TEST(Arbiter, AMessageHasLeftWithItsLastBit)
{
    Arbiter arbiter(50ms);
    arbiter.set_link(kGigabit);
    arbiter.set_flow(1, 0, std::nullopt);
    EXPECT_EQ(send_mebibyte(arbiter, 1, 7ms), 7ms + kTimeOfMebibyte);
}

// As two programs do that answer each other: each has nothing to send while it waits.
TEST(Arbiter, IdleTimeIsNothingToCatchUpWith)
{
    Arbiter arbiter(50ms);
    arbiter.set_link(kGigabit);
    arbiter.set_flow(1, 0, std::nullopt);
    Time now = send_mebibyte(arbiter, 1, 0ns);
    for (const Time pause : {30us, 1000us, 8400us, 49000us, 51000us, 300000us}) {
        EXPECT_EQ(send_mebibyte(arbiter, 1, now + pause), now + pause + kTimeOfMebibyte) << pause.count();
        now += pause + kTimeOfMebibyte;
    }
}

TEST(Arbiter, WhatAProgramCouldNotPostIsCaughtUpWith)
{
    Arbiter arbiter(50ms);
    arbiter.set_link(kGigabit);
    arbiter.set_flow(1, 0, std::nullopt);
    const Time first = send_mebibyte(arbiter, 1, 0ns);
    EXPECT_EQ(send_mebibyte(arbiter, 1, first + 10ms, 3ms), first + 10ms + kTimeOfMebibyte - 3ms);
    const Time second = first + 10ms + kTimeOfMebibyte - 3ms;
    EXPECT_EQ(send_mebibyte(arbiter, 1, second + 4ms, 20ms), second + 4ms + kTimeOfMebibyte - 4ms)
        << "no more than it was idle";
}

TEST(Arbiter, TheSlowestRateOnTheWaySaysWhen)
{
    Arbiter arbiter(50ms);
    arbiter.set_link(kGigabit);
    arbiter.set_elements(
        {{1, {0, 1, Bandwidth::from_mbps(500)}}, {2, {1, 1, Bandwidth::from_mbps(250)}}, {3, {0, 1, {}}}});
    arbiter.set_flow(1, 2, std::nullopt);
    EXPECT_EQ(send_mebibyte(arbiter, 1, 0ns), 4 * kTimeOfMebibyte);
    arbiter.set_flow(2, 1, Bandwidth::from_mbps(100));
    EXPECT_EQ(send_mebibyte(arbiter, 2, 60ms), 60ms + 10 * kTimeOfMebibyte);
}

// The link does not rest meanwhile.
TEST(Arbiter, ACapIsNothingToCatchUpWithEitherWhileOthersSend)
{
    Arbiter arbiter(50ms);
    arbiter.set_link(kGigabit);
    arbiter.set_elements({{1, {0, 1, Bandwidth::from_mbps(100)}}, {2, {0, 1, {}}}});
    arbiter.set_flow(1, 1, std::nullopt);
    arbiter.set_flow(2, 2, std::nullopt);
    arbiter.set_backlogged(1, true, 0ns);
    Time now = arbiter.sent(1, kPieceOfMebibyte, 0ns);
    arbiter.expect(1, now);
    EXPECT_TRUE(arbiter.has_idle_rate(2, 16384, 131us)) << "that of the link";
    EXPECT_FALSE(arbiter.has_idle_rate(2, 16384, 132us)) << "at which it takes less";
    arbiter.set_backlogged(2, true, now);
    EXPECT_TRUE(arbiter.has_idle_rate(1, 16384, 1ms)) << "its cap";
    EXPECT_FALSE(arbiter.has_idle_rate(2, 16384, 1us)) << "it has something to send itself";
    now += 30ms;
    arbiter.set_backlogged(1, true, now);
    EXPECT_EQ(arbiter.sent(1, kPieceOfMebibyte, now), now + 1'310'720ns) << "16 KiB at 100 Mbit/s";
}

TEST(Arbiter, ANewCapIsNothingToCatchUpWith)
{
    Arbiter arbiter(50ms);
    arbiter.set_link(kGigabit);
    arbiter.set_flow(1, 0, std::nullopt);
    const Time first = send_mebibyte(arbiter, 1, 100ms);
    arbiter.set_backlogged(1, true, first);
    arbiter.set_flow(1, 0, Bandwidth::from_mbps(100));
    EXPECT_EQ(arbiter.sent(1, kPieceOfMebibyte, first), first + 1'310'720ns);
}

// Elements that change places with each other: what is above what is right at every step.
TEST(Arbiter, AnElementMayComeBelowOneThatWasBelowIt)
{
    Load load;
    load.arbiter.set_elements({{1, {0, 1, {}}}, {2, {1, 1, {}}}, {3, {0, 1, {}}}});
    load.add(1, 2);
    load.add(2, 3);
    load.run(100ms);
    load.arbiter.set_elements({{1, {2, 1, Bandwidth::from_mbps(100)}}, {2, {0, 1, {}}}, {3, {0, 1, {}}}});
    load.arbiter.set_flow(1, 1, std::nullopt);
    static_cast<void>(load.rates());
    load.run(100ms);
    EXPECT_NEAR(load.rates().at(1), 100, 5);
    load.stop(1);
    load.stop(2);
    EXPECT_FALSE(load.arbiter.turn(load.now).flow) << "nobody is counted that is not there";
    EXPECT_FALSE(load.arbiter.turn(load.now).next);
}

// ---- programs that do not always have a processor ----

// Programs that keep a window of small messages posted as long as they have a processor, which they share with others.
class Programs {
public:
    Programs(Bandwidth link, Time burst, bool are_expected) : arbiter(burst), are_expected_(are_expected)
    {
        arbiter.set_link(link);
    }

    // Off the processor for `off` after each `on`.
    void add(Arbiter::FlowNumber number, Arbiter::ElementNumber leaf, Time on, Time off)
    {
        arbiter.set_flow(number, leaf, std::nullopt);
        programs_[number] = {on, off};
    }
    // Off the processor for this long from now on.
    void stop(Arbiter::FlowNumber number, Time length) { programs_.at(number).stopped_until = now + length; }
    // Each piece takes the device this long.
    void run(Time length, Time effort)
    {
        constexpr Time kLook = 50us;
        const Time end = now + length;
        while (now < end) {
            for (auto& [number, program] : programs_) {
                const bool has_processor = program.has_processor(now);
                if (has_processor && std::exchange(program.posted, kWindow) == 0) {
                    arbiter.set_backlogged(number, true, now,
                                           program.had_processor ? Time(0) : now - program.empty_since);
                }
                program.had_processor = has_processor;
            }
            const auto turn = arbiter.turn(now);
            if (turn.flow) {
                Program& program = programs_.at(*turn.flow);
                arbiter.sent(*turn.flow, kMessage, now);
                program.sent += kMessage;
                if (--program.posted == 0) {
                    program.empty_since = now;
                    are_expected_ ? arbiter.expect(*turn.flow, now) : arbiter.set_backlogged(*turn.flow, false, now);
                }
                now += effort;
            } else {
                now = std::min(now + kLook, turn.next.value_or(end));
            }
        }
    }
    // Of all that was sent, in percent.
    [[nodiscard]] double part(Arbiter::FlowNumber number) const
    {
        double all = 0;
        for (const auto& [each, program] : programs_) {
            all += static_cast<double>(program.sent);
        }
        return 100 * static_cast<double>(programs_.at(number).sent) / all;
    }
    [[nodiscard]] double mbps() const
    {
        double all = 0;
        for (const auto& [each, program] : programs_) {
            all += static_cast<double>(program.sent);
        }
        return all * 8e3 / static_cast<double>(now.count());
    }

    Arbiter arbiter;
    Time now{0};

private:
    static constexpr int kWindow = 128;
    static constexpr std::size_t kMessage = 256;
    struct Program {
        Time on{0};
        Time off{0};
        int posted = 0;
        std::uint64_t sent = 0;
        Time stopped_until{0};
        Time empty_since{0};
        bool had_processor = false;

        [[nodiscard]] bool has_processor(Time now) const { return now >= stopped_until && now % (on + off) < on; }
    };
    const bool are_expected_;
    std::map<Arbiter::FlowNumber, Program> programs_;
};

// 70 of a link of 50 Mbit/s drains a window of 128 messages of 256 bytes in 7.5 ms.
TEST(Arbiter, WaitsForProgramsThatHaveNoProcessor)
{
    const auto heavy_part_of = [](bool are_expected, double& mbps) {
        Programs programs(Bandwidth::from_mbps(50), 50ms, are_expected);
        programs.arbiter.set_elements({{1, {0, 70, {}}}, {2, {0, 30, {}}}});
        programs.add(1, 1, 3ms, 17ms);
        programs.add(2, 2, 3ms, 4ms);
        programs.run(2s, 5us);
        mbps = programs.mbps();
        return programs.part(1);
    };
    double mbps = 0;
    EXPECT_NEAR(heavy_part_of(true, mbps), 70, 1);
    EXPECT_NEAR(mbps, 50, 1) << "and loses nothing of the link";
    EXPECT_LT(heavy_part_of(false, mbps), 60) << "it would not get its share";
}

// Once in a while a host has no processor for anybody for longer than can be caught up with.
TEST(Arbiter, WaitsAgainSoonAfterTimeWasLostOnce)
{
    Programs programs(Bandwidth::from_mbps(50), 50ms, true);
    programs.arbiter.set_elements({{1, {0, 70, {}}}, {2, {0, 30, {}}}});
    programs.add(1, 1, 3ms, 17ms);
    programs.add(2, 2, 3ms, 4ms);
    for (int time = 0; time < 8; ++time) {
        programs.stop(1, 120ms);
        programs.stop(2, 120ms);
        programs.run(1500ms, 5us);
    }
    EXPECT_NEAR(programs.part(1), 70, 1);
}

TEST(Arbiter, WaitsInAnElementThatItsCapHolds)
{
    Programs programs(Bandwidth::from_mbps(200), 50ms, true);
    programs.arbiter.set_elements(
        {{1, {0, 1, Bandwidth::from_mbps(50)}}, {11, {1, 70, {}}}, {12, {1, 30, {}}}, {2, {0, 1, {}}}});
    programs.add(1, 11, 3ms, 9ms);
    programs.add(2, 12, 3ms, 4ms);
    programs.add(3, 2, 3ms, 1us);
    programs.run(2s, 5us);
    const double capped = programs.part(1) + programs.part(2);
    EXPECT_NEAR(100 * programs.part(1) / capped, 70, 1);
    EXPECT_NEAR(capped * programs.mbps() / 100, 50, 2);
    EXPECT_GT(programs.mbps(), 180) << "others do not wait for it";
}

// What a device cannot send for its own slowness is nothing that waiting would share better.
TEST(Arbiter, DoesNotWaitWhereNoRateHoldsBack)
{
    Programs programs(kGigabit, 50ms, true);
    programs.add(1, 0, 3ms, 17ms);
    programs.add(2, 0, 3ms, 1us);
    programs.run(2s, 20us);
    EXPECT_GT(programs.mbps(), 100) << "102 Mbit/s is all that this device does";
    EXPECT_GT(programs.part(2), 60);
}

// Many have nothing to send most of the time, and the first would pay for it.
TEST(Arbiter, WaitingInVainTakesLittleOfTheLink)
{
    Programs programs(Bandwidth::from_mbps(50), 50ms, true);
    programs.add(0, 0, 3ms, 1us);
    for (Arbiter::FlowNumber number = 1; number <= 12; ++number) {
        programs.add(number, 0, 1ms, 80ms + 7ms * number);
    }
    programs.run(10s, 5us);
    EXPECT_GT(programs.mbps(), 45);
}

TEST(Arbiter, WhoDoesNotComeBackIsNotWaitedForAnyLonger)
{
    Arbiter arbiter(20ms);
    arbiter.set_link(kGigabit);
    for (const Arbiter::FlowNumber flow : {1, 2}) {
        arbiter.set_flow(flow, 0, std::nullopt);
        arbiter.set_backlogged(flow, true, 0ns);
    }
    const auto first = *arbiter.turn(0ns).flow;
    arbiter.sent(first, 125'000, 0ns);
    EXPECT_EQ(arbiter.turn(0ns).next, 1ms) << "the link is short from now on";
    const auto second = *arbiter.turn(1ms).flow;
    EXPECT_NE(second, first);
    arbiter.expect(second, 1ms);
    const auto turn = arbiter.turn(2ms);
    EXPECT_FALSE(turn.flow);
    EXPECT_EQ(turn.awaited, second);
    EXPECT_EQ(turn.next, 21ms);
    EXPECT_EQ(arbiter.turn(21ms).flow, first);

    arbiter.set_backlogged(second, true, 21ms);
    arbiter.expect(second, 21ms);
    arbiter.set_backlogged(second, false, 21ms);
    EXPECT_EQ(arbiter.turn(21ms).flow, first) << "it was said that it does not come";
}

// What is allowed: 2 % of the link.
TEST(Arbiter, AgreesWithTheSolverOnRandomTrees)
{
    EXPECT_TRUE(rc::check("the arbiter agrees with the solver", [] {
        const test::RandomCase random = test::random_case({14, 20, 4, 1'000});
        std::map<ElementPath, Arbiter::ElementNumber> numbers;
        for (const auto& [path, element] : random.tree) {
            numbers[path] = static_cast<Arbiter::ElementNumber>(numbers.size() + 1);
        }
        std::map<Arbiter::ElementNumber, Arbiter::ElementSettings> elements;
        for (const auto& [path, element] : random.tree) {
            elements[numbers.at(path)] = {element.parent == ElementPath() ? 0 : numbers.at(element.parent),
                                          element.attributes.share, element.attributes.max_rate};
        }
        Load load;
        load.arbiter.set_elements(elements);
        for (const auto& [path, demand] : random.demands) {
            load.add(numbers.at(path), numbers.at(path), 512U << *rc::gen::inRange(0U, 6U), demand);
        }
        load.run(100ms);
        static_cast<void>(load.rates());
        load.run(300ms);
        const auto rates = load.rates();
        for (const auto& [path, allocation] : solve(random.tree, kGigabit, random.demands)) {
            if (const auto rate = rates.find(numbers.at(path)); rate != rates.end()) {
                RC_LOG() << path.text() << ": " << rate->second << " instead of " << allocation.kbps / 1e3 << '\n';
                RC_ASSERT(std::abs(rate->second - allocation.kbps / 1e3) < 20);
            }
        }
    }));
}

// ---- traffic classes of the port ----

using test::classes_of;

void add_to_class(Load& load, Arbiter::FlowNumber number, Arbiter::ElementNumber leaf, std::uint8_t port_class,
                  std::size_t piece = 4096, std::optional<Bandwidth> demand = std::nullopt)
{
    load.add(number, leaf, piece, demand, std::nullopt, port_class);
}

// As in attach mode per-process: two trees that are alike to the device.
TEST(ArbiterClasses, WeightsHoldBetweenTrees)
{
    Load load;
    load.arbiter.set_elements({{1, {0, 1, {}}}, {11, {1, 70, {}}}, {2, {0, 1, {}}}, {21, {2, 30, {}}}});
    load.add(1, 11);
    load.add(2, 21);
    load.run(100ms);
    EXPECT_NEAR(load.rates().at(1), 500, 10) << "in one class";
    load.arbiter.set_classes(classes_of({{false, 30, {}}, {false, 70, {}}}));
    load.arbiter.set_flow(1, 11, std::nullopt, 1);
    load.run(1s);
    const auto rates = load.rates();
    EXPECT_NEAR(rates.at(1), 700, 5);
    EXPECT_NEAR(rates.at(2), 300, 5);
    const auto bytes = load.arbiter.bytes_of_classes();
    EXPECT_EQ(bytes.at(1) + bytes.at(0),
              load.arbiter.bytes_of_elements().at(1) + load.arbiter.bytes_of_elements().at(2));
    load.arbiter.set_classes(classes_of({{false, 60, {}}, {false, 40, {}}}));
    load.run(1s);
    EXPECT_NEAR(load.rates().at(1), 400, 5) << "at once";
}

TEST(ArbiterClasses, StrictOnesAreFirstAndTheHighestNumberFirstOfThem)
{
    Load load;
    load.arbiter.set_classes(classes_of({{false, 100, {}}, {true, 0, {}}, {true, 0, {}}, {false, 0, {}}}));
    add_to_class(load, 1, 0, 0);
    add_to_class(load, 2, 0, 1, 4096, Bandwidth::from_mbps(300));
    add_to_class(load, 3, 0, 2, 4096, Bandwidth::from_mbps(500));
    add_to_class(load, 4, 0, 3);
    load.run(1s);
    auto rates = load.rates();
    EXPECT_NEAR(rates.at(3), 500, 5);
    EXPECT_NEAR(rates.at(2), 300, 5);
    EXPECT_NEAR(rates.at(1), 200, 5);
    EXPECT_NEAR(rates.at(4), 0, 1) << "without a weight: what others leave";
    load.stop(1);
    load.run(1s);
    EXPECT_NEAR(load.rates().at(4), 200, 5);
}

TEST(ArbiterClasses, AMaximumRateHoldsAllOfAClass)
{
    Load load;
    load.arbiter.set_classes(classes_of({{false, 50, {}}, {false, 50, Bandwidth::from_mbps(100)}}));
    add_to_class(load, 1, 0, 0);
    add_to_class(load, 2, 0, 1);
    add_to_class(load, 3, 0, 1);
    load.run(1s);
    const auto rates = load.rates();
    EXPECT_NEAR(rates.at(1), 900, 5);
    EXPECT_NEAR(rates.at(2), 50, 2);
    EXPECT_NEAR(rates.at(3), 50, 2);
}

TEST(ArbiterClasses, ACapHoldsForAnElementInAllClassesTogether)
{
    Load load;
    load.arbiter.set_classes(classes_of({{false, 50, {}}, {false, 50, {}}}));
    load.arbiter.set_elements({{1, {0, 1, Bandwidth::from_mbps(200)}}, {2, {1, 1, {}}}});
    add_to_class(load, 1, 2, 0);
    add_to_class(load, 2, 1, 1);
    add_to_class(load, 3, 0, 0);
    load.run(1s);
    const auto rates = load.rates();
    EXPECT_NEAR(rates.at(1) + rates.at(2), 200, 3);
    EXPECT_NEAR(rates.at(3), 800, 5);
}

TEST(ArbiterClasses, AnElementThatGoesLeavesItsFlowsToTheirClass)
{
    Load load;
    load.arbiter.set_classes(classes_of({{false, 20, {}}, {false, 80, {}}}));
    load.arbiter.set_elements({{1, {0, 1, {}}}, {2, {1, 1, Bandwidth::from_mbps(100)}}, {3, {2, 1, {}}}});
    add_to_class(load, 1, 2, 1);
    add_to_class(load, 2, 3, 1);
    add_to_class(load, 3, 3, 0);
    load.run(100ms);
    load.arbiter.set_elements({{3, {0, 1, {}}}});
    static_cast<void>(load.rates());
    load.run(100ms);
    const auto rates = load.rates();
    EXPECT_NEAR(rates.at(1), 400, 10);
    EXPECT_NEAR(rates.at(2), 400, 10);
    EXPECT_NEAR(rates.at(3), 200, 10);
    for (const Arbiter::FlowNumber flow : {1, 2, 3}) {
        load.stop(flow);
    }
    EXPECT_FALSE(load.arbiter.turn(load.now).flow);
    EXPECT_FALSE(load.arbiter.turn(load.now).next) << "nobody is counted that is not there";
}

// What is allowed: 2 % of the link. No cap is of an element that is in several classes.
TEST(ArbiterClasses, AgreeWithTheSolverOnRandomTrees)
{
    EXPECT_TRUE(rc::check("the arbiter agrees with the solver of classes", [] {
        const test::RandomCase random = test::random_case({12, 20, 4, 1'000});
        const PortClasses port = test::random_classes(1'000);
        std::map<ElementPath, Arbiter::ElementNumber> numbers;
        std::map<Arbiter::ElementNumber, Arbiter::ElementSettings> elements;
        Tree tree = random.tree;
        for (auto& [path, element] : tree) {
            numbers[path] = static_cast<Arbiter::ElementNumber>(numbers.size() + 1);
            if (element.kind == ElementKind::Node) {
                element.attributes.max_rate.reset();
            }
        }
        for (const auto& [path, element] : tree) {
            elements[numbers.at(path)] = {element.parent == ElementPath() ? 0 : numbers.at(element.parent),
                                          element.attributes.share, element.attributes.max_rate};
        }
        Load load;
        load.arbiter.set_elements(elements);
        load.arbiter.set_classes(port);
        ClassDemands demands;
        for (const auto& [path, demand] : random.demands) {
            const auto port_class = *rc::gen::inRange<std::uint8_t>(0, 4);
            demands[port_class][path] = demand;
            add_to_class(load, numbers.at(path), numbers.at(path), port_class, 512U << *rc::gen::inRange(0U, 6U),
                         demand);
        }
        load.run(100ms);
        static_cast<void>(load.rates());
        load.run(300ms);
        const auto rates = load.rates();
        for (const auto& [path, allocation] : solve(tree, kGigabit, port, demands).elements) {
            if (const auto rate = rates.find(numbers.at(path)); rate != rates.end()) {
                RC_LOG() << path.text() << ": " << rate->second << " instead of " << allocation.kbps / 1e3 << '\n';
                RC_ASSERT(std::abs(rate->second - allocation.kbps / 1e3) < 20);
            }
        }
    }));
}

}    // namespace
}    // namespace rdmaqos
