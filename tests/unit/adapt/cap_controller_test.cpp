// What the controller promises, one promise at a time.
#include <deque>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/adapt/simulated_port.h"

namespace rdmaqos::adapt {
namespace {

using test::Dice;
using test::kLink;
using test::kSpeed;
using test::kStep;
using test::SimulatedPort;

constexpr double kGbit = 1e6;
const ElementPath kRpc("/rpc");
const ElementPath kBulk("/bulk");
const LeafCopy kSmall{18, kBulk};    // of share 30
const LeafCopy kLarge{17, kRpc};     // of share 70

Tree two_classes(std::optional<Bandwidth> cap_of_bulk = {})
{
    return {{ElementPath::root(), Element{}},
            {kBulk, {ElementKind::Leaf, ElementPath::root(), {30, cap_of_bulk}}},
            {kRpc, {ElementKind::Leaf, ElementPath::root(), {70, {}}}}};
}

void steps(SimulatedPort& port, int count)
{
    for (int i = 0; i < count; ++i) {
        port.step();
    }
}

// Two processes want all that they get, until each has its part.
void fill(SimulatedPort& port)
{
    port.demand(kLarge, kSpeed);
    port.demand(kSmall, kSpeed);
    steps(port, 20);
}

void expect_ideal(const SimulatedPort& port, double percent)
{
    for (const auto& [copy, kbps] : port.ideal()) {
        EXPECT_NEAR(port.sent().at(copy) / kSpeed, kbps / kSpeed, percent / 100)
            << copy.leaf.text() << " of " << copy.process;
    }
}

TEST(AdaptiveCaps, CloseToTheSharesWithin200Milliseconds)
{
    SimulatedPort port(two_classes());
    port.demand(kLarge, kSpeed);
    port.demand(kSmall, 0);
    steps(port, 20);
    EXPECT_GE(port.sent().at(kLarge), 0.98 * kSpeed) << "alone, it has all";
    port.demand(kSmall, kSpeed);
    EXPECT_NEAR(port.sent().at(kSmall), 0.5 * kSpeed, 0.01 * kSpeed) << "what this port does by itself";
    steps(port, 4);
    expect_ideal(port, 1);
}

TEST(AdaptiveCaps, OpenWithinASecondWhenOthersStop)
{
    SimulatedPort port(two_classes());
    fill(port);
    port.demand(kLarge, 0);
    steps(port, 4);
    EXPECT_GE(port.sent().at(kSmall), 0.98 * kSpeed);
    port.demand(kSmall, 0.2 * kSpeed);
    steps(port, 30);
    EXPECT_EQ(port.caps.at(kSmall), std::nullopt) << "nothing is to be divided";
}

TEST(AdaptiveCaps, GiveAwayWhatOneDoesNotUse)
{
    SimulatedPort port(two_classes());
    port.demand(kLarge, 0.2 * kSpeed);
    port.demand(kSmall, kSpeed);
    steps(port, 20);
    expect_ideal(port, 1);
    EXPECT_NEAR(port.sent().at(kSmall), 0.8 * kSpeed, 0.01 * kSpeed);
    EXPECT_TRUE(!port.caps.at(kLarge) || *port.caps.at(kLarge) >= Bandwidth::from_gbps(70)) << "its part stays open";
}

TEST(AdaptiveCaps, FindWhoIsHeldUnseen)
{
    // What the port gives the first process by itself; then, nothing that one could see.
    for (const auto& [share, first] : {std::pair(4, 0.2), std::pair(1000, 0.0005)}) {
        SimulatedPort port(two_classes(), {{17, 1}, {18, share}});
        port.demand(kLarge, first * kSpeed);
        port.demand(kSmall, kSpeed);
        steps(port, 20);
        port.demand(kLarge, kSpeed);
        EXPECT_NEAR(port.sent().at(kLarge), first * kSpeed, 0.01 * kSpeed);
        steps(port, 14);
        expect_ideal(port, 1);
    }
}

TEST(AdaptiveCaps, KeepTheCapOfAClassForAllItsProcesses)
{
    SimulatedPort port(two_classes(Bandwidth::from_gbps(40)));
    const LeafCopy second{19, kBulk};
    port.demand(kSmall, kSpeed);
    port.demand(second, 0.05 * kSpeed);
    steps(port, 10);
    EXPECT_NEAR(port.sent().at(kSmall), 35 * kGbit, kGbit);
    port.demand(second, kSpeed);
    steps(port, 4);
    EXPECT_NEAR(port.sent().at(kSmall), 20 * kGbit, kGbit);
    EXPECT_NEAR(port.sent().at(second), 20 * kGbit, kGbit);
    port.demand(kSmall, 0);
    steps(port, 4);
    EXPECT_NEAR(port.sent().at(second), 40 * kGbit, kGbit);
}

TEST(AdaptiveCaps, KeepASmallCapOfAClass)
{
    SimulatedPort port(two_classes(Bandwidth::from_mbps(200)));
    for (std::uint64_t process = 1; process <= 4; ++process) {
        port.demand({process, kBulk}, kSpeed);
    }
    steps(port, 10);
    for (const auto& [copy, kbps] : port.sent()) {
        EXPECT_NEAR(kbps, 50'000, 2000) << copy.process;
    }
}

TEST(AdaptiveCaps, LeaveToOthersWhatTheySendOutsideOfTheTree)
{
    SimulatedPort port(two_classes());
    port.foreign_kbps = 0.4 * kSpeed;
    port.demand(kLarge, kSpeed);
    port.demand(kSmall, kSpeed);
    steps(port, 70);
    EXPECT_NEAR(port.sent().at(kLarge), 42 * kGbit, 1.5 * kGbit);
    EXPECT_NEAR(port.sent().at(kSmall), 18 * kGbit, 1.5 * kGbit);
}

TEST(AdaptiveCaps, FillAPortThatCountsHeaders)
{
    SimulatedPort port(two_classes());
    port.headers = 0.12;
    fill(port);
    expect_ideal(port, 1);
    port.demand(kLarge, 0.62 * kSpeed);
    steps(port, 20);
    EXPECT_NEAR(port.sent().at(kSmall), 0.38 * kSpeed, 0.02 * kSpeed);
}

TEST(AdaptiveCaps, FollowTheLink)
{
    SimulatedPort port(two_classes());
    fill(port);
    const auto cap = port.caps.at(kSmall);
    port.set_link({});
    steps(port, 20);
    EXPECT_EQ(port.caps.at(kSmall), cap) << "it is down";
    port.set_link(Bandwidth::from_gbps(40));
    steps(port, 10);
    EXPECT_NEAR(port.sent().at(kLarge), 28 * kGbit, kGbit);
    EXPECT_NEAR(port.sent().at(kSmall), 12 * kGbit, kGbit);
    port.set_link(kLink);
    steps(port, 10);
    expect_ideal(port, 1);
}

TEST(AdaptiveCaps, OfALeafThatIsGoneAreLeftAlone)
{
    SimulatedPort port(two_classes());
    port.demand(kLarge, kSpeed);
    port.demand(kSmall, kSpeed);
    Tree without = two_classes();
    without.erase(kBulk);
    port.controller.set_tree(std::move(without));
    steps(port, 10);
    EXPECT_FALSE(port.caps.contains(kSmall));
}

TEST(AdaptiveCaps, AreNeverBelowWhatIsPromised)
{
    constexpr double kPromised[] = {50, 20, 10, 10, 10};
    Tree tree{{ElementPath::root(), Element{}}};
    std::vector<LeafCopy> copies;
    for (std::uint64_t i = 0; i < std::size(kPromised); ++i) {
        const ElementPath path = ElementPath::root().child(fmt::format("class{}", i));
        tree[path] = {ElementKind::Leaf, ElementPath::root(), {static_cast<std::uint32_t>(kPromised[i]), {}}};
        copies.push_back({i, path});
    }
    SimulatedPort port(tree);
    Dice dice(7);
    for (int step = 0; step < 4000; ++step) {
        for (const auto& copy : copies) {
            if (step == 0 || dice.below(40) == 0) {
                port.demand(copy, dice.below(3) == 0 ? 0 : dice.between(0.01, 2) * kSpeed);
            }
        }
        port.step([&](double kbps) { return kbps * dice.between(0.95, 1.05); });
        for (const auto& [copy, cap] : port.caps) {
            ASSERT_GE(cap.value_or(kLink).mbps(), static_cast<std::uint64_t>(1000 * kPromised[copy.process]))
                << "step " << step << ", class " << copy.process;
        }
    }
}

TEST(AdaptiveCaps, RestWhereNothingChanges)
{
    SimulatedPort port(two_classes());
    const LeafCopy third{19, kRpc};
    port.demand(kLarge, 0.2 * kSpeed);
    port.demand(third, kSpeed);
    port.demand(kSmall, kSpeed);
    Dice dice(3);
    std::size_t changes = 0;
    double lowest = 1;
    for (int step = 0; step < 1200; ++step) {
        const auto changed = port.step([&](double kbps) { return kbps * dice.between(0.98, 1.02); });
        if (step >= 20) {
            changes += changed.size();
            lowest = std::min(lowest, port.sent().at(third) / port.ideal().at(third));
        }
    }
    EXPECT_LE(changes, 59 * 8U) << "in 59 s: two copies of two, when it is looked who wants more";
    EXPECT_GE(lowest, 0.93) << "of its part, at any time";
}

// What it sends on average when it sends for so long of every period.
double sent_by_bursts(Duration burst, Duration pause)
{
    constexpr Duration kPiece = std::chrono::milliseconds(10);
    SimulatedPort port(two_classes());
    port.demand(kLarge, kSpeed);
    double sent = 0;
    int pieces = 0;
    Duration in_period{};
    for (int step = 0; step < 400; ++step) {
        for (Duration in_step{}; in_step < kStep; in_step += kPiece) {
            port.demand(kSmall, in_period < burst ? kSpeed : 0);
            in_period = in_period + kPiece >= burst + pause ? Duration() : in_period + kPiece;
            port.pass(kPiece);
            sent += port.sent().at(kSmall);
            ++pieces;
        }
        port.step();
    }
    return sent / pieces;
}

TEST(AdaptiveCaps, ABurstyProcessGainsNothing)
{
    const double honest = sent_by_bursts(std::chrono::milliseconds(100), Duration());
    EXPECT_NEAR(honest, 0.3 * kSpeed, 0.01 * kSpeed);
    for (const int burst : {10, 30, 50, 70, 100, 150, 250, 500, 1000, 3000}) {
        for (const int pause : {10, 20, 30, 50, 70, 100, 150, 300, 500, 1000}) {
            EXPECT_LE(sent_by_bursts(std::chrono::milliseconds(burst), std::chrono::milliseconds(pause)), 1.05 * honest)
                << burst << " ms of sending, " << pause << " ms without";
        }
    }
}

TEST(AdaptiveCaps, ChangeAtMostTwentyInASecond)
{
    SimulatedPort port(two_classes());
    for (std::uint64_t process = 0; process < 60; ++process) {
        port.demand({process, process % 2 == 0 ? kRpc : kBulk}, 0);
    }
    std::deque<std::size_t> last_second;
    std::size_t in_second = 0;
    Dice dice(5);
    for (int step = 0; step < 400; ++step) {
        for (std::uint64_t process = 0; process < 60; ++process) {
            if (dice.below(20) == 0) {
                port.demand({process, process % 2 == 0 ? kRpc : kBulk}, dice.between(-0.5, 1) * kSpeed);
            }
        }
        last_second.push_back(port.step().size());
        in_second += last_second.back();
        if (last_second.size() > 20) {
            in_second -= last_second.front();
            last_second.pop_front();
        }
        ASSERT_LE(in_second, kMostChanges);
    }
}

TEST(AdaptiveCaps, AreSetAgainIfTheDeviceHasRefusedThem)
{
    SimulatedPort port(two_classes());
    fill(port);
    const auto cap = port.caps.at(kSmall);
    port.controller.not_set(kSmall);
    EXPECT_EQ(port.step(), (std::vector<CapChange>{{kSmall, cap}}));
    EXPECT_TRUE(port.step().empty());
}

TEST(AdaptiveCaps, StopWithTheCapsOfThePolicyDivided)
{
    SimulatedPort port(two_classes(Bandwidth::from_gbps(40)));
    const LeafCopy second{19, kBulk};
    port.demand(kLarge, kSpeed);
    port.demand(kSmall, kSpeed);
    port.demand(second, 0);
    steps(port, 20);
    const std::vector<LeafCopy> all{kLarge, kSmall, second};
    port.apply(port.controller.stop(all));
    EXPECT_EQ(port.caps.at(kLarge), std::nullopt);
    EXPECT_EQ(port.caps.at(kSmall), Bandwidth::from_gbps(20));
    EXPECT_EQ(port.caps.at(second), Bandwidth::from_gbps(20));
    EXPECT_TRUE(port.controller.stop(all).empty()) << "it has stopped";
    steps(port, 20);
    expect_ideal(port, 1);
}

TEST(AdaptiveCaps, OfAProcessThatHasEndedGoToTheOthers)
{
    SimulatedPort port(two_classes());
    const LeafCopy second{19, kBulk};
    for (const auto& copy : {kLarge, kSmall, second}) {
        port.demand(copy, kSpeed);
    }
    steps(port, 20);
    expect_ideal(port, 1);
    port.end(second);
    steps(port, 4);
    expect_ideal(port, 1);
    port.demand({20, kRpc}, kSpeed);
    steps(port, 4);
    expect_ideal(port, 1);
}

}    // namespace
}    // namespace rdmaqos::adapt
