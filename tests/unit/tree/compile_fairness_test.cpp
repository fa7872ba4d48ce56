// Random policies, on a device and in exact arithmetic: guarantees first, the rest by shares, under caps.
#include <cstdlib>
#include <random>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/model/solver.h"
#include "tests/unit/tree/fair_reference.h"
#include "tests/unit/tree/support.h"

namespace rdmaqos::test {
namespace {

constexpr int kCases = 3000;
constexpr double kShort = 0.05;
constexpr double kLinkKbps = 100e6;
constexpr double kRounding = 1;    // kbit/s

struct RandomPolicy {
    Wish root;
    CompileInput input;
};

// Guarantees take at most 60 % of what their parent has in any case, so all of them can be met.
class RandomPolicies {
public:
    explicit RandomPolicies(std::uint32_t seed) : numbers_(seed) {}

    RandomPolicy next(std::uint32_t deepest, std::uint32_t levels)
    {
        RandomPolicy policy;
        policy.input = input({}, gbps(100));
        policy.input.capabilities.max_depth = levels;
        policy.root.is_leaf = false;
        add_children(policy, policy.root, ElementPath::root(), kLinkKbps, deepest);
        find_usable(policy.root);
        fill(policy.root, kLinkKbps);
        return policy;
    }

private:
    std::uint32_t number(std::uint32_t first, std::uint32_t last)
    {
        return first + static_cast<std::uint32_t>(numbers_() % (last - first + 1));
    }
    bool one_in(std::uint32_t n) { return number(1, n) == 1; }

    // `sure`: kbit/s that the parent has when all are busy, or less.
    void add_children(RandomPolicy& policy, Wish& parent, const ElementPath& path, double sure, std::uint32_t deepest)
    {
        parent.below.resize(path.is_root() ? number(2, 5) : number(1, 4));
        double left = 0.6 * sure;
        double shares = 0;
        for (auto& child : parent.below) {
            choose_rates(child, left, sure);
            left -= child.min;
            shares += child.min > 0 ? 0 : child.share;
        }
        double rest = sure;
        for (const auto& child : parent.below) {
            rest -= child.min;
        }
        for (std::size_t i = 0; i < parent.below.size(); ++i) {
            auto& child = parent.below[i];
            const double has = std::min(child.min > 0 ? child.min : rest * child.share / shares, child.cap);
            add(policy, child, path.child(fmt::format("{}{}", child.min > 0 ? "g" : "s", i)), has, deepest);
        }
    }

    void choose_rates(Wish& wish, double left, double sure)
    {
        if (one_in(3) && left > 2000) {
            wish.min = 1000.0 * number(1, static_cast<std::uint32_t>(left / 1000));
        } else {
            wish.share = number(1, one_in(4) ? 300 : 40);
        }
        if (one_in(3)) {
            const double least = std::max(wish.min, 1000.0);
            wish.cap = 1000.0 * number(static_cast<std::uint32_t>(least / 1000),
                                       static_cast<std::uint32_t>(std::max(least, 1.5 * sure) / 1000));
        }
    }

    void add(RandomPolicy& policy, Wish& wish, const ElementPath& path, double sure, std::uint32_t deepest)
    {
        wish.is_leaf = deepest == 1 || !one_in(deepest > 2 ? 2 : 4);
        SpecElement element = wish.is_leaf ? level(path.text()) : node(path.text());
        element.rate.share = static_cast<std::uint32_t>(wish.share);
        if (wish.min > 0) {
            element.rate.min_rate = Bandwidth::from_kbps(static_cast<std::uint64_t>(wish.min));
        }
        if (wish.cap < kNoLimit) {
            element.rate.max_rate = Bandwidth::from_kbps(static_cast<std::uint64_t>(wish.cap));
        }
        policy.input.spec.elements.push_back(std::move(element));
        // A node without children: nothing uses it, or its levels are on other devices.
        if (!wish.is_leaf && !one_in(5)) {
            add_children(policy, wish, path, sure, deepest - 1);
        }
    }

    std::mt19937 numbers_;
};

bool is_at_or_below(const ElementPath& path, const ElementPath& above)
{
    return path == above || path.text().starts_with(above.text() + "/");
}

struct Verdict {
    int policies_short = 0;    // somebody is more than 5 % short
    int silent = 0;            // elements that are, without a finding of them or of one above them
    int missed = 0;            // guarantees
    int elements = 0;
    double worst = 0;     // part that is missing, silently
    std::string first;    // the first such policy
};

class Judge {
public:
    Judge(const RandomPolicy& policy, Verdict& verdict)
        : compiled_(compile(policy.input)),
          rates_(solve(compiled_.tree, policy.input.link_speed, all_backlogged(compiled_.tree))), verdict_(verdict)
    {
        look_below(policy.root, ElementPath::root());
        verdict_.policies_short += short_ ? 1 : 0;
        if (verdict_.first.empty() && !complaint_.empty()) {
            verdict_.first = complaint_ + findings_text(compiled_.findings);
            for (const auto& element : policy.input.spec.elements) {
                verdict_.first += fmt::format("  {} {} min {} max {} weight {}\n", element.is_class ? "level" : "node",
                                              element.path.text(), element.rate.min_rate.value_or(Bandwidth()).mbps(),
                                              element.rate.max_rate.value_or(Bandwidth()).mbps(),
                                              fmt::format("{} share {}", weight_of(element.path), *element.rate.share));
            }
        }
    }

private:
    [[nodiscard]] std::uint32_t weight_of(const ElementPath& path) const
    {
        const auto found = compiled_.tree.find(path);
        return found == compiled_.tree.end() ? 0 : found->second.attributes.share;
    }

    // In the order in which they were made.
    void look_below(const Wish& parent, const ElementPath& path)
    {
        for (std::size_t i = 0; i < parent.below.size(); ++i) {
            const auto& wish = parent.below[i];
            const auto below = path.child(fmt::format("{}{}", wish.min > 0 ? "g" : "s", i));
            look_at(wish, below);
            look_below(wish, below);
        }
    }

    void look_at(const Wish& wish, const ElementPath& path)
    {
        double rate = 0;
        for (const auto& [leaf, allocation] : rates_) {
            const bool is_leaf = compiled_.tree.at(leaf).kind == ElementKind::Leaf;
            rate += is_leaf && is_at_or_below(leaf, path) ? allocation.kbps : 0;
        }
        ++verdict_.elements;
        if (rate + kRounding < std::min(wish.min, wish.usable)) {
            ++verdict_.missed;
            complain("guarantee missed", path, rate, wish.min);
        }
        if (rate + kRounding < (1 - kShort) * wish.rate) {
            short_ = true;
            if (!is_told(path)) {
                ++verdict_.silent;
                verdict_.worst = std::max(verdict_.worst, 1 - rate / wish.rate);
                complain("short", path, rate, wish.rate);
            }
        }
    }

    void complain(const char* what, const ElementPath& path, double has, double wanted)
    {
        complaint_ += fmt::format("{}: {} has {:.0f} instead of {:.0f} kbit/s\n", path.text(), what, has, wanted);
    }

    [[nodiscard]] bool is_told(const ElementPath& path) const
    {
        return std::any_of(compiled_.findings.begin(), compiled_.findings.end(),
                           [&](const Finding& finding) { return is_at_or_below(path, finding.path); });
    }

    Compiled compiled_;
    Allocations rates_;
    Verdict& verdict_;
    bool short_ = false;
    std::string complaint_;
};

// RDMAQOS_SEED gives other policies.
std::uint32_t seed_of_this_run()
{
    constexpr std::uint32_t kSeed = 45;
    const char* given = std::getenv("RDMAQOS_SEED");
    return given != nullptr ? static_cast<std::uint32_t>(std::stoul(given)) : kSeed;
}

// `most_short`: of how many policies somebody may be short, and is told so, as weights are whole numbers.
void expect_fair(const char* what, std::uint32_t deepest, std::uint32_t levels, double most_short)
{
    const auto seed = seed_of_this_run();
    RandomPolicies random(seed);
    Verdict verdict;
    for (int i = 0; i < kCases; ++i) {
        Judge(random.next(deepest, levels), verdict);
    }
    fmt::print(
        "{}: seed {}: {} policies with {} elements; in {} somebody is more than 5 % short; {} elements are without "
        "a finding (the worst {:.0f} % short), {} guarantees are missed\n",
        what, seed, kCases, verdict.elements, verdict.policies_short, verdict.silent, verdict.worst * 100,
        verdict.missed);
    EXPECT_EQ(verdict.silent, 0) << "RDMAQOS_SEED=" << seed << "\n" << verdict.first;
    EXPECT_EQ(verdict.missed, 0) << "RDMAQOS_SEED=" << seed << "\n" << verdict.first;
    EXPECT_LT(verdict.policies_short, kCases * most_short);
}

TEST(CompileFairness, Siblings)
{
    expect_fair("siblings", 2, 4, 0.1);
}

TEST(CompileFairness, Nested)
{
    expect_fair("nested", 5, 8, 0.15);
}

TEST(CompileFairness, Folded)
{
    // Weights from 1 to 100 stand for products of shares.
    expect_fair("folded", 5, 3, 0.4);
}

TEST(CompileFairness, FoldedIntoOneLevel)
{
    expect_fair("folded into one level", 4, 2, 0.4);
}

}    // namespace
}    // namespace rdmaqos::test
