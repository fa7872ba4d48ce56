#include "lib/model/dwrr.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/unit/model/random_tree.h"
#include "tests/unit/model/trees.h"

namespace rdmaqos {
namespace {

constexpr std::uint64_t kPackets = 30'000;

DwrrOptions options_of(std::uint64_t packets)
{
    DwrrOptions options;
    options.packets = packets;
    options.warm_up_packets = packets / 2;
    return options;
}

// The worst deviation of an element, as a part of what is allowed: 1 % of the solver's rate, and a few whole packets
// that the measured time may cut off or hold too many.
double worst_deviation(const Tree& tree, Bandwidth link, const Demands& demands, std::uint64_t packets)
{
    const auto played = simulate_dwrr(tree, link, demands, options_of(packets));
    double worst = 0;
    for (const auto& [path, allocation] : solve(tree, link, demands)) {
        const double allowed = 0.01 * allocation.kbps +
                               8.0 / static_cast<double>(packets) * static_cast<double>(link.kbps());
        worst = std::max(worst, std::abs(played.at(path) - allocation.kbps) / allowed);
    }
    return worst;
}

TEST(Dwrr, ManualExample)
{
    const Tree tree = test::manual_example();
    for (const std::uint64_t link : {100U, 10U}) {
        const auto rates = simulate_dwrr(tree, Bandwidth::from_gbps(link), all_backlogged(tree), options_of(100'000));
        EXPECT_NEAR(rates.at(ElementPath("/g1")), link == 100 ? 95.904e6 : 7e6, link == 100 ? 1e5 : 1e4);
        EXPECT_NEAR(rates.at(ElementPath("/g2")), link == 100 ? 4.096e6 : 3e6, 1e4);
    }
}

TEST(Dwrr, SharesDecideInBothDirections)
{
    using enum ElementKind;
    const Tree tree = test::tree_of({{"/a", Node, 2}, {"/a/x", Leaf, 1}, {"/a/y", Leaf, 3}, {"/b", Leaf, 1}});
    const auto rates = simulate_dwrr(tree, Bandwidth::from_gbps(12), all_backlogged(tree), options_of(60'000));
    EXPECT_NEAR(rates.at(ElementPath("/a/x")), 2e6, 1e4);
    EXPECT_NEAR(rates.at(ElementPath("/a/y")), 6e6, 1e4);
    EXPECT_NEAR(rates.at(ElementPath("/b")), 4e6, 1e4);
    EXPECT_NEAR(rates.at(ElementPath::root()), 12e6, 1e3);
}

TEST(Dwrr, LinkIdlesWhenNobodySends)
{
    using enum ElementKind;
    const Tree tree = test::tree_of({{"/a", Leaf}, {"/b", Leaf, 1, Bandwidth::from_gbps(1)}, {"/empty", Node}});
    const auto rates = simulate_dwrr(tree, Bandwidth::from_gbps(10),
                                     {{ElementPath("/a"), Bandwidth::from_gbps(2)}, {ElementPath("/b"), std::nullopt}},
                                     options_of(60'000));
    EXPECT_NEAR(rates.at(ElementPath::root()), 3e6, 1e4);
    EXPECT_NEAR(rates.at(ElementPath("/a")), 2e6, 1e4);
    EXPECT_NEAR(rates.at(ElementPath("/b")), 1e6, 1e4);
    EXPECT_EQ(rates.at(ElementPath("/empty")), 0.0);
}

TEST(Dwrr, NothingComesOfNothing)
{
    EXPECT_TRUE(simulate_dwrr({}, Bandwidth::from_gbps(1), {}, options_of(100)).empty());
    const Tree tree = test::manual_example();
    EXPECT_EQ(simulate_dwrr(tree, Bandwidth(), all_backlogged(tree), options_of(100)).at(ElementPath("/g1")), 0.0);
    EXPECT_EQ(simulate_dwrr(tree, Bandwidth::from_gbps(1), {}, options_of(100)).at(ElementPath("/g1")), 0.0);
}

TEST(Dwrr, PlaysTheSameEveryTime)
{
    const Tree tree = test::manual_example();
    const auto play = [&] {
        return simulate_dwrr(tree, Bandwidth::from_gbps(10), all_backlogged(tree), options_of(5'000));
    };
    EXPECT_EQ(play(), play());
}

TEST(Dwrr, AgreesWithTheSolverOnRandomTrees)
{
    EXPECT_TRUE(rc::check("packets agree with the solver within 1 %", [] {
        const test::RandomCase random = test::random_case({14, 8, 4, 10'000});
        const double worst = worst_deviation(random.tree, Bandwidth::from_gbps(10), random.demands, kPackets);
        RC_LOG() << "worst deviation: " << worst << " of what is allowed\n";
        RC_ASSERT(worst <= 1.0);
    }));
}

}    // namespace
}    // namespace rdmaqos
