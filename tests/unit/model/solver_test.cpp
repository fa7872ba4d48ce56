#include "lib/model/solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/unit/model/random_tree.h"
#include "tests/unit/model/trees.h"

namespace rdmaqos {
namespace {

using enum ElementKind;
using test::Line;
using test::text_of;
using test::tree_of;

constexpr Bandwidth gbps(std::uint64_t value)
{
    return Bandwidth::from_gbps(value);
}

struct Expected {
    const char* path;
    const char* text;
};

void expect_rates(const Tree& tree, Bandwidth link, const Demands& demands, std::initializer_list<Expected> expected)
{
    const Allocations rates = solve(tree, link, demands);
    EXPECT_EQ(rates.size(), tree.size());
    for (const Expected& row : expected) {
        const auto found = rates.find(ElementPath(row.path));
        ASSERT_NE(found, rates.end()) << row.path;
        EXPECT_EQ(text_of(found->second), row.text) << row.path;
    }
}

// 100 Gbit/s: g2's part by shares would be 30 Gbit/s; its cap leaves it 4.096, and g1 gets all the rest.
TEST(Solver, ManualExampleAt100Gbps)
{
    const Tree tree = test::manual_example();
    expect_rates(tree, gbps(100), all_backlogged(tree),
                 {{"/", "100 Gbit/s, link"}, {"/g1", "95.904 Gbit/s, link"}, {"/g2", "4.096 Gbit/s, cap of /g2"}});
}

// 10 Gbit/s: the shares give 7 and 3 Gbit/s; 3 is below the cap of 4.096, which therefore does nothing.
TEST(Solver, ManualExampleAt10Gbps)
{
    const Tree tree = test::manual_example();
    expect_rates(tree, gbps(10), all_backlogged(tree),
                 {{"/", "10 Gbit/s, link"}, {"/g1", "7 Gbit/s, link"}, {"/g2", "3 Gbit/s, link"}});
}

// 10 Gbit/s with g1 nearly idle: now g2 may use what g1 leaves, up to its cap, and the link is not full.
TEST(Solver, ManualExampleWithIdleSibling)
{
    expect_rates(test::manual_example(), gbps(10),
                 {{ElementPath("/g1"), Bandwidth::from_mbps(500)}, {ElementPath("/g2"), std::nullopt}},
                 {{"/", "4.596 Gbit/s, demand"}, {"/g1", "500 Mbit/s, demand"}, {"/g2", "4.096 Gbit/s, cap of /g2"}});
}

TEST(Solver, SharesCountAmongThoseWhoSend)
{
    const Tree tree = tree_of({{"/a", Leaf, 60}, {"/b", Leaf, 30}, {"/c", Leaf, 10}});
    expect_rates(tree, gbps(100), {{ElementPath("/b"), std::nullopt}, {ElementPath("/c"), std::nullopt}},
                 {{"/a", "0 kbit/s, demand"}, {"/b", "75 Gbit/s, link"}, {"/c", "25 Gbit/s, link"}});
}

TEST(Solver, DeviceDefaultShareCountsAsOne)
{
    const Tree tree = tree_of({{"/a", Leaf, 0}, {"/b", Leaf, 1}, {"/c", Leaf, 2}});
    expect_rates(tree, gbps(100), all_backlogged(tree),
                 {{"/a", "25 Gbit/s, link"}, {"/b", "25 Gbit/s, link"}, {"/c", "50 Gbit/s, link"}});
}

TEST(Solver, CapOfANodeIsSharedByItsChildren)
{
    const Tree tree = tree_of({{"/t", Node, 70, gbps(20)}, {"/t/a", Leaf, 3}, {"/t/b", Leaf, 1}, {"/s", Leaf, 30}});
    expect_rates(tree, gbps(100), all_backlogged(tree),
                 {{"/t", "20 Gbit/s, cap of /t"},
                  {"/t/a", "15 Gbit/s, cap of /t"},
                  {"/t/b", "5 Gbit/s, cap of /t"},
                  {"/s", "80 Gbit/s, link"}});
}

TEST(Solver, WhatASiblingLeavesIsDividedByShares)
{
    const Tree tree = tree_of({{"/a", Leaf, 50}, {"/b", Leaf, 30}, {"/c", Leaf, 20}});
    expect_rates(tree, gbps(100),
                 {{ElementPath("/a"), gbps(10)}, {ElementPath("/b"), std::nullopt}, {ElementPath("/c"), std::nullopt}},
                 {{"/a", "10 Gbit/s, demand"}, {"/b", "54 Gbit/s, link"}, {"/c", "36 Gbit/s, link"}});
}

TEST(Solver, UnusedRateIsLentAcrossNodes)
{
    const Tree tree = tree_of(
        {{"/x", Node, 1}, {"/x/a", Leaf, 1}, {"/x/b", Leaf, 1}, {"/y", Node, 1}, {"/y/c", Leaf, 1, gbps(10)}});
    expect_rates(tree, gbps(100), all_backlogged(tree),
                 {{"/x", "90 Gbit/s, link"},
                  {"/x/a", "45 Gbit/s, link"},
                  {"/y", "10 Gbit/s, demand"},
                  {"/y/c", "10 Gbit/s, cap of /y/c"}});
}

TEST(Solver, FoldedElementsHangWhereTheirParentSays)
{
    Tree tree = tree_of({{"/a", Leaf, 1}});
    tree.emplace(ElementPath("/lost/b"), Element{Leaf, ElementPath::root(), {3, std::nullopt}});
    expect_rates(tree, gbps(8), all_backlogged(tree), {{"/a", "2 Gbit/s, link"}, {"/lost/b", "6 Gbit/s, link"}});
}

TEST(Solver, NothingComesOfNothing)
{
    EXPECT_TRUE(solve({}, gbps(100), {}).empty());
    expect_rates(tree_of({}), gbps(100), {}, {{"/", "0 kbit/s, demand"}});
    const Tree tree = tree_of({{"/a", Leaf}});
    expect_rates(tree, Bandwidth(), all_backlogged(tree), {{"/a", "0 kbit/s, link"}});
    EXPECT_FALSE(solve(tree_of({{"/no-parent/a", Leaf}}), gbps(1), {}).contains(ElementPath("/no-parent/a")));
}

TEST(Solver, ThirdsAddUp)
{
    const Tree tree = tree_of({{"/a", Leaf}, {"/b", Leaf}, {"/c", Leaf}});
    const Allocations rates = solve(tree, gbps(1), all_backlogged(tree));
    EXPECT_EQ(rates.at(ElementPath("/a")).rate(), Bandwidth::from_kbps(333'333));
    EXPECT_NEAR(rates.at(ElementPath("/a")).kbps * 3, 1e6, 1e-3);
}

// What each element asks for, computed from the definition.
double wish(const Tree& tree, const Demands& demands, const ElementPath& path)
{
    const Element& element = tree.at(path);
    double wanted = 0;
    if (element.kind == Leaf) {
        if (const auto demand = demands.find(path); demand != demands.end()) {
            wanted = demand->second ? static_cast<double>(demand->second->kbps())
                                    : std::numeric_limits<double>::infinity();
        }
    } else {
        for (const auto& [child, candidate] : tree) {
            wanted += candidate.parent == path ? wish(tree, demands, child) : 0.0;
        }
    }
    return element.attributes.max_rate ? std::min(wanted, static_cast<double>(element.attributes.max_rate->kbps()))
                                       : wanted;
}

// These conditions have one solution: every node gives away all it has, nobody gets more than it asks for, and who
// gets less than it asks for has at least as much per share as each of its siblings.
void check_max_min(const test::RandomCase& random, Bandwidth link)
{
    const double tolerance = 1e-9 * static_cast<double>(link.kbps());
    const Allocations rates = solve(random.tree, link, random.demands);
    RC_ASSERT(rates.size() == random.tree.size());
    const auto wanted = [&](const ElementPath& path) { return wish(random.tree, random.demands, path); };
    const auto per_share = [&](const ElementPath& path) {
        return rates.at(path).kbps / std::max(random.tree.at(path).attributes.share, 1U);
    };
    const double all = std::min(wanted(ElementPath::root()), static_cast<double>(link.kbps()));
    RC_ASSERT(std::abs(rates.at(ElementPath::root()).kbps - all) <= tolerance);
    for (const auto& [path, element] : random.tree) {
        RC_ASSERT(rates.at(path).kbps <= wanted(path) + tolerance);
        double given = 0;
        for (const auto& [child, candidate] : random.tree) {
            given += candidate.parent == path ? rates.at(child).kbps : 0.0;
            const bool siblings = candidate.parent == element.parent && !path.is_root() && child != path;
            if (siblings && rates.at(path).kbps < wanted(path) - tolerance) {
                RC_ASSERT(per_share(path) >= per_share(child) - tolerance);
            }
        }
        RC_ASSERT(element.kind == Leaf || std::abs(given - rates.at(path).kbps) <= tolerance);
    }
}

TEST(Solver, IsMaxMinFairOnRandomTrees)
{
    EXPECT_TRUE(rc::check("weighted max-min", [] { check_max_min(test::random_case({}), gbps(10)); }));
}

// Who is said to limit an element really does: with that limit lifted it gets more, unless it gets all it asks for.
TEST(Solver, NamesTheBottleneckOnRandomTrees)
{
    EXPECT_TRUE(rc::check("bottleneck", [] {
        const test::RandomCase random = test::random_case({});
        for (const auto& [path, allocation] : solve(random.tree, gbps(10), random.demands)) {
            const double before = allocation.kbps;
            if (allocation.bottleneck == Bottleneck::Cap) {
                const Element& at = random.tree.at(allocation.bottleneck_at);
                RC_ASSERT(at.attributes.max_rate.has_value());
                RC_ASSERT(path.text().starts_with(allocation.bottleneck_at.text()));
                const double rate = solve(random.tree, gbps(10), random.demands).at(allocation.bottleneck_at).kbps;
                RC_ASSERT(std::abs(rate - static_cast<double>(at.attributes.max_rate->kbps())) < 0.01);
            } else if (allocation.bottleneck == Bottleneck::Demand) {
                RC_ASSERT(std::abs(before - wish(random.tree, random.demands, path)) < 0.01);
            } else {
                const double more = solve(random.tree, gbps(1000), random.demands).at(path).kbps;
                RC_ASSERT(more > before);
            }
        }
    }));
}

}    // namespace
}    // namespace rdmaqos
