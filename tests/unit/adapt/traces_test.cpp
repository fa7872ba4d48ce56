// The controller on random demands, against the solver: how near, how soon, with how many changes.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/adapt/simulated_port.h"

namespace rdmaqos::adapt {
namespace {

using test::Dice;
using test::kSpeed;
using test::kStep;
using test::SimulatedPort;

struct Scheduler {
    const char* name;
    bool equal;    // serves all processes equally
};

struct Outcome {
    std::vector<double> distances;    // in percent of the link: of the copy that is farthest from what it should have
    double used = 0;                  // of what could have been sent
    std::size_t changes = 0;
    std::size_t most_changes = 0;    // in one second
    std::vector<double> settling;    // seconds from a change of demand until all are within 3 percent
};

struct Trace {
    Tree tree;
    std::vector<LeafCopy> copies;
    test::ProcessShares shares;
};

ElementPath leaf(const Tree& tree, std::uint32_t number)
{
    std::vector<ElementPath> leaves;
    for (const auto& [path, element] : tree) {
        if (element.kind == ElementKind::Leaf) {
            leaves.push_back(path);
        }
    }
    return leaves[number % leaves.size()];
}

// Classes of one or two levels, some of them capped, and 2 to 8 copies of their leaves.
Trace random_trace(Dice& dice, const Scheduler& scheduler)
{
    Trace trace;
    const auto share = [&] { return std::vector<std::uint32_t>{1, 2, 3, 5, 7}[dice.below(5)]; };
    const auto cap = [&](std::uint32_t one_in) {
        return dice.below(one_in) == 0 ? std::optional(Bandwidth::from_gbps(20 + dice.below(60))) : std::nullopt;
    };
    trace.tree[ElementPath::root()] = Element{};
    const std::uint32_t classes = 1 + dice.below(4);
    for (std::uint32_t i = 0; i < classes; ++i) {
        const ElementPath path = ElementPath::root().child(fmt::format("class{}", i));
        const bool is_node = dice.below(3) == 0;
        trace.tree[path] = {is_node ? ElementKind::Node : ElementKind::Leaf, ElementPath::root(), {share(), cap(5)}};
        for (std::uint32_t j = 0; is_node && j < 2; ++j) {
            trace.tree[path.child(fmt::format("part{}", j))] = {ElementKind::Leaf, path, {share(), cap(8)}};
        }
    }
    const std::uint32_t count = 2 + dice.below(7);
    for (std::uint32_t i = 0; i < count; ++i) {
        // Some processes have more than one leaf.
        trace.copies.push_back({dice.below(4) == 0 ? i / 2 : i, leaf(trace.tree, dice.below(64))});
        if (!scheduler.equal) {
            trace.shares[trace.copies.back().process] = std::vector<std::uint32_t>{1, 2, 4, 8}[dice.below(4)];
        }
    }
    std::ranges::sort(trace.copies);
    trace.copies.erase(std::ranges::unique(trace.copies).begin(), trace.copies.end());
    return trace;
}

double distance(const SimulatedPort& port)
{
    double farthest = 0;
    for (const auto& [copy, kbps] : port.sent()) {
        farthest = std::max(farthest, std::abs(kbps - port.ideal().at(copy)));
    }
    return 100 * farthest / kSpeed;
}

double sum(const SimulatedPort::Rates& rates)
{
    double sum = 0;
    for (const auto& [copy, kbps] : rates) {
        sum += kbps;
    }
    return sum;
}

// Demands change every three seconds on average; half a second after a change it is looked how far off all are.
Outcome play(std::uint32_t seed, const Scheduler& scheduler, double seconds)
{
    constexpr double kStepSeconds = std::chrono::duration<double>(kStep).count();
    constexpr double kNoise = 0.02;
    Dice dice(seed);
    const Trace trace = random_trace(dice, scheduler);
    SimulatedPort port(trace.tree, trace.shares);
    std::map<LeafCopy, double> next;
    Outcome outcome;
    double since = 0;
    bool is_settled = true;
    std::deque<double> changed_at;
    double could = 0;
    double did = 0;
    for (double now = 0; now < seconds; now += kStepSeconds) {
        since += kStepSeconds;
        for (const auto& copy : trace.copies) {
            if (now < next[copy]) {
                continue;
            }
            next[copy] = now + dice.exponential(3);
            const std::uint32_t kind = dice.below(5);
            port.demand(copy, kind < 2 ? 0 : kind < 4 ? kSpeed : dice.between(0.01, 1) * kSpeed);
            since = 0;
            is_settled = false;
        }
        const double off = distance(port);
        if (since >= 0.5) {
            outcome.distances.push_back(off);
        }
        if (!is_settled && off <= 3) {
            is_settled = true;
            outcome.settling.push_back(since);
        }
        could += sum(port.ideal());
        did += std::min(sum(port.sent()), sum(port.ideal()));
        const auto changes = port.step([&](double kbps) { return kbps * dice.between(1 - kNoise, 1 + kNoise); });
        outcome.changes += changes.size();
        changed_at.insert(changed_at.end(), changes.size(), now);
        while (!changed_at.empty() && now - changed_at.front() > 1 - kStepSeconds / 2) {
            changed_at.pop_front();
        }
        outcome.most_changes = std::max(outcome.most_changes, changed_at.size());
    }
    outcome.used = could > 0 ? did / could : 1;
    return outcome;
}

double quantile(std::vector<double> values, double part)
{
    if (values.empty()) {
        return 0;
    }
    std::ranges::sort(values);
    return values[std::min(values.size() - 1, static_cast<std::size_t>(part * static_cast<double>(values.size())))];
}

double mean(const std::vector<double>& values)
{
    double sum = 0;
    for (const double value : values) {
        sum += value;
    }
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

class Traces : public ::testing::TestWithParam<Scheduler> {};

TEST_P(Traces, AreAsNearToTheSolverAsCanBeMeasured)
{
    // The table of docs/performance.md has 300.
    const char* const asked = std::getenv("RDMAQOS_TRACE_SECONDS");
    const std::uint32_t count = 30;
    const double seconds = asked != nullptr ? std::stod(asked) : 15;
    std::vector<double> distances;
    std::vector<double> settling;
    double worst = 0;
    double used = 1;
    double changes = 0;
    std::size_t most_changes = 0;
    std::vector<double> uses;
    fmt::print("{:>5} {:>7} {:>7} {:>7} {:>7} {:>9} {:>9} {:>7} {:>9}\n", "trace", "mean", "median", "95 %", "worst",
               "settles", "95 %", "used", "changes/s");
    for (std::uint32_t seed = 1; seed <= count; ++seed) {
        const Outcome outcome = play(seed, GetParam(), seconds);
        const double of_trace = quantile(outcome.distances, 0.95);
        fmt::print("{:>5} {:>7.2f} {:>7.2f} {:>7.2f} {:>7.2f} {:>7.2f} s {:>7.2f} s {:>6.1f}% {:>9.1f}\n", seed,
                   mean(outcome.distances), quantile(outcome.distances, 0.5), of_trace, quantile(outcome.distances, 1),
                   quantile(outcome.settling, 0.5), quantile(outcome.settling, 0.95), 100 * outcome.used,
                   static_cast<double>(outcome.changes) / seconds);
        distances.insert(distances.end(), outcome.distances.begin(), outcome.distances.end());
        settling.insert(settling.end(), outcome.settling.begin(), outcome.settling.end());
        worst = std::max(worst, of_trace);
        used = std::min(used, outcome.used);
        uses.push_back(outcome.used);
        changes += static_cast<double>(outcome.changes) / seconds;
        most_changes = std::max(most_changes, outcome.most_changes);
    }
    fmt::print("{:>5} {:>7.2f} {:>7.2f} {:>7.2f} {:>7.2f} {:>7.2f} s {:>7.2f} s {:>6.1f}% {:>9.1f}\n", "all",
               mean(distances), quantile(distances, 0.5), quantile(distances, 0.95), quantile(distances, 1),
               quantile(settling, 0.5), quantile(settling, 0.95), 100 * mean(uses), changes / count);
    EXPECT_LE(quantile(distances, 0.5), 1);
    EXPECT_LE(quantile(distances, 0.95), 5);
    EXPECT_LE(quantile(settling, 0.95), 1);
    EXPECT_GE(mean(uses), 0.98);
    EXPECT_LE(most_changes, kMostChanges);
    EXPECT_LE(worst, 10) << "the 95 % of the worst trace";
}

// Whatever is demanded, as long as it stays the same.
TEST_P(Traces, RestWhileDemandsStayTheSame)
{
    constexpr int kBefore = 60;
    constexpr int kSteps = 200;
    for (std::uint32_t seed = 1; seed <= 30; ++seed) {
        Dice dice(seed);
        const Trace trace = random_trace(dice, GetParam());
        SimulatedPort port(trace.tree, trace.shares);
        for (const auto& copy : trace.copies) {
            const std::uint32_t kind = dice.below(4);
            port.demand(copy, kind < 1 ? 0 : kind < 3 ? kSpeed : dice.between(0.01, 1) * kSpeed);
        }
        std::size_t changes = 0;
        double farthest = 0;
        for (int step = 0; step < kBefore + kSteps; ++step) {
            const auto changed = port.step([&](double kbps) { return kbps * dice.between(0.98, 1.02); });
            if (step >= kBefore) {
                changes += changed.size();
                farthest = std::max(farthest, distance(port));
            }
        }
        EXPECT_LE(changes, 5U * kSteps / 20) << "in 10 s, seed " << seed;
        EXPECT_LE(farthest, 5) << "percent of the link, seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Schedulers, Traces, ::testing::Values(Scheduler{"Equal", true}, Scheduler{"Unequal", false}),
                         [](const auto& each) { return each.param.name; });

}    // namespace
}    // namespace rdmaqos::adapt
