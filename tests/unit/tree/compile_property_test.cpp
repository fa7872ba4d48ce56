#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "lib/tree/compile_weights.h"
#include "tests/unit/tree/generators.h"

namespace rdmaqos::test {
namespace {

// RC_ASSERT evaluates all of a bare a || b: such conditions stand in parentheses of their own.

bool has_leaves(const Tree& tree, const ElementPath& path)
{
    return std::any_of(tree.begin(), tree.end(), [&](const auto& entry) {
        const bool is_at_or_below = entry.first == path || entry.first.text().starts_with(path.text() + '/');
        return is_at_or_below && entry.second.kind == ElementKind::Leaf;
    });
}

TEST(CompileProperty, ADevicesLimitsAreKept)
{
    EXPECT_TRUE(rc::check("limits", [] {
        const auto in = any_input();
        const auto& tree = compile(in).tree;
        RC_ASSERT(leaf_count(tree) <= in.capabilities.max_leaves);
        RC_ASSERT(tree.size() <= in.capabilities.max_elements);
        RC_ASSERT(depth(tree) <= in.capabilities.max_depth);
        for (const auto& [path, element] : tree) {
            RC_ASSERT(element.attributes.share <= in.capabilities.max_share);
            RC_ASSERT((in.capabilities.rate_caps || !element.attributes.max_rate));
            RC_ASSERT((in.capabilities.shares || element.attributes.share == 0));
        }
    }));
}

TEST(CompileProperty, PrincipalsLeaveTheReserveFree)
{
    EXPECT_TRUE(rc::check("reserve", [] {
        auto in = any_input();
        const auto with = leaf_count(compile(in).tree);
        in.principals.clear();
        const auto without = leaf_count(compile(in).tree);
        const auto limit = in.capabilities.max_leaves - std::min(in.capabilities.max_leaves, in.leaf_reserve);
        RC_ASSERT(with <= std::max(limit, without));
    }));
}

TEST(CompileProperty, TheTreeIsOne)
{
    EXPECT_TRUE(rc::check("tree", [] {
        const auto tree = compile(any_input()).tree;
        for (const auto& [path, element] : tree) {
            if (path.is_root()) {
                RC_ASSERT(element == Element{});
                continue;
            }
            const auto parent = tree.find(element.parent);
            RC_ASSERT(parent != tree.end());
            RC_ASSERT(parent->second.kind == ElementKind::Node);
            RC_ASSERT(path.text().starts_with(element.parent.text()));
        }
    }));
}

TEST(CompileProperty, EveryPrincipalHasALeafOfItsClass)
{
    EXPECT_TRUE(rc::check("principals", [] {
        const auto in = any_input();
        const auto compiled = compile(in);
        RC_ASSERT(compiled.principal_leaves.size() == in.principals.size());
        for (std::size_t i = 0; i < in.principals.size(); ++i) {
            const auto& leaf = compiled.principal_leaves[i];
            const auto& shared = compiled.classes.at(in.principals[i].class_path).shared_leaf;
            RC_ASSERT(leaf.empty() == shared.empty());
            if (!leaf.empty()) {
                RC_ASSERT(compiled.tree.at(leaf).kind == ElementKind::Leaf);
                RC_ASSERT(leaf.text().starts_with(in.principals[i].class_path.text()));
            }
        }
    }));
}

TEST(CompileProperty, EveryClassHasALeafOrTheAdministratorIsTold)
{
    EXPECT_TRUE(rc::check("classes", [] {
        const auto in = any_input();
        const auto compiled = compile(in);
        for (const auto& element : in.spec.elements) {
            if (!element.is_class) {
                continue;
            }
            const auto& leaf = compiled.classes.at(element.path).shared_leaf;
            const bool told = std::any_of(compiled.findings.begin(), compiled.findings.end(), [&](const auto& finding) {
                return finding.path == element.path && finding.is_error &&
                       (finding.kind == FindingKind::NoLeaf || finding.kind == FindingKind::NoScheduling);
            });
            RC_ASSERT(leaf.empty() == told);
            RC_ASSERT((leaf.empty() || compiled.tree.at(leaf).kind == ElementKind::Leaf));
        }
    }));
}

TEST(CompileProperty, AMinRateIsHonouredOrTheAdministratorIsTold)
{
    EXPECT_TRUE(rc::check("min-rates", [] {
        const auto in = any_input();
        const auto compiled = compile(in);
        const auto rates = solve(compiled.tree, in.link_speed, all_backlogged(compiled.tree));
        for (const auto& element : in.spec.elements) {
            const auto guaranteed = rates.find(element.path);
            if (!element.rate.min_rate || guaranteed == rates.end()) {
                continue;
            }
            const bool told = std::any_of(compiled.findings.begin(), compiled.findings.end(), [&](const auto& finding) {
                return finding.path == element.path && finding.kind == FindingKind::MinRateMissed && finding.is_error;
            });
            // Where nobody is, nobody misses it.
            const bool is_missed = guaranteed->second.rate() < *element.rate.min_rate;
            RC_ASSERT((is_missed && has_leaves(compiled.tree, element.path)) == told);
        }
    }));
}

TEST(CompileProperty, FoldingPreservesFractions)
{
    EXPECT_TRUE(rc::check("fractions", [] {
        auto in = any_input({false, false, 20});
        for (auto& principal : in.principals) {
            principal.max_rate.reset();
        }
        in.capabilities = connectx6();
        in.capabilities.max_share = 1'000'000;
        in.capabilities.max_depth = 32;
        const auto deep = compile(in);
        in.capabilities.max_depth = number<std::uint32_t>(2, 5);
        const auto flat = compile(in);
        RC_ASSERT(depth(flat.tree) <= in.capabilities.max_depth);
        RC_PRE(leaf_count(flat.tree) == leaf_count(deep.tree));
        const auto asked = solve(deep.tree, in.link_speed, all_backlogged(deep.tree));
        const auto reached = solve(flat.tree, in.link_speed, all_backlogged(flat.tree));
        for (const auto& [path, element] : deep.tree) {
            if (element.kind == ElementKind::Leaf) {
                RC_ASSERT(std::abs(reached.at(path).kbps - asked.at(path).kbps) < 0.01 * asked.at(path).kbps);
            }
        }
    }));
}

TEST(CompileProperty, SharesThatFitAreTheAdministratorsOwn)
{
    EXPECT_TRUE(rc::check("kept shares", [] {
        auto in = any_input({true, false, 100});
        in.capabilities = connectx6();
        in.capabilities.max_depth = 32;
        const auto compiled = compile(in);
        for (const auto& element : in.spec.elements) {
            RC_ASSERT(compiled.tree.at(element.path).attributes.share == *element.rate.share);
        }
    }));
}

TEST(WeightsProperty, GuaranteesAreFoundWhereverThereAreSuchWeights)
{
    EXPECT_TRUE(rc::check("weights", [] {
        constexpr std::uint64_t kCapacity = 1000;
        const auto max_share = number<std::uint32_t>(1, 8);
        const std::vector<std::uint64_t> mins{number<std::uint64_t>(0, 600), number<std::uint64_t>(0, 600),
                                              number<std::uint64_t>(0, 600)};
        const std::uint64_t sum = mins[0] + mins[1] + mins[2];
        std::vector<compiling::WeightTarget> targets;
        for (const auto min : mins) {
            targets.push_back({sum == 0 ? 1.0 / 3 : static_cast<double>(min) / static_cast<double>(sum), min, false});
        }
        const auto holds = [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
            const std::uint64_t total = a + b + c;
            return a * kCapacity >= mins[0] * total && b * kCapacity >= mins[1] * total &&
                   c * kCapacity >= mins[2] * total;
        };
        bool possible = false;
        for (std::uint32_t a = 1; a <= max_share; ++a) {
            for (std::uint32_t b = 1; b <= max_share; ++b) {
                for (std::uint32_t c = 1; c <= max_share; ++c) {
                    possible = possible || holds(a, b, c);
                }
            }
        }
        const auto chosen = compiling::choose_weights(targets, kCapacity, max_share).weights;
        RC_ASSERT(holds(chosen[0], chosen[1], chosen[2]) == possible);
    }));
}

}    // namespace
}    // namespace rdmaqos::test
