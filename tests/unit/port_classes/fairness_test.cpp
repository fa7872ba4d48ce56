// Policies, most of them random, as traffic classes of each driver and in exact arithmetic: a child of the root that
// has a class for itself gets its part when all are busy, within 5 %, or there is a finding of just that. A cap is
// never exceeded, a guarantee never missed, and no strict child waits for others, without one.
#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/model/solver.h"
#include "lib/port_classes/plan.h"
#include "tests/unit/port_classes/random_policies.h"
#include "tests/unit/tree/fair_reference.h"

namespace rdmaqos::port_classes::test {
namespace {

constexpr double kTolerance = 0.05;
constexpr double kRoundingKbps = 2;

// Of these kinds, and of what is requested so: a finding of something else excuses nothing.
bool has_finding(const Plan& plan, const ElementPath& path, std::initializer_list<FindingKind> kinds,
                 std::string_view requested = "")
{
    return std::ranges::any_of(plan.findings, [&](const Finding& finding) {
        return finding.path == path && std::ranges::find(kinds, finding.kind) != kinds.end() &&
               finding.requested.starts_with(requested);
    });
}

std::optional<std::uint8_t> class_for_itself(const Plan& plan, const ClassRequest& child)
{
    for (std::uint8_t index = 1; index < plan.uses.size(); ++index) {
        if (plan.uses.at(index).children == std::vector{child.path}) {
            return index;
        }
    }
    return std::nullopt;
}

// The class of a child that is before all that have weights.
bool is_first(const Plan& plan, const ClassRequest& child)
{
    for (std::uint8_t index = 1; index < plan.uses.size(); ++index) {
        if (std::ranges::count(plan.uses.at(index).children, child.path) > 0) {
            return plan.wanted.ets->traffic_class.at(index).selection == dcb::Selection::Strict;
        }
    }
    return false;
}

const ClassRequest& child_at(const Requests& requests, const ElementPath& path)
{
    return *std::ranges::find(requests.children, path, &ClassRequest::path);
}

// What strict classes leave that send at the caps of their children; of one that has others nothing is known.
double left_by_first(const Requests& requests, const Plan& plan, const Options& options)
{
    const auto link = static_cast<double>(options.link_speed.kbps());
    double left = link;
    for (std::uint8_t index = 1; index < plan.uses.size(); ++index) {
        double caps = 0;
        for (const ElementPath& path : plan.uses.at(index).children) {
            const auto& cap = child_at(requests, path).max_rate;
            caps += cap ? static_cast<double>(cap->kbps()) : link;
        }
        if (plan.uses.at(index).is_notifications) {
            caps = static_cast<double>(plan.wanted.ets->traffic_class.at(index).max_rate.value_or(Bandwidth{}).kbps());
        }
        const bool is_strict = plan.wanted.ets->traffic_class.at(index).selection == dcb::Selection::Strict;
        left -= is_strict && caps < link ? caps : 0;
    }
    return std::max(left, 0.0);
}

// By the weights and caps that the port is set to, when all classes are busy.
std::map<std::uint8_t, double> rates_of_classes(const Plan& plan, double link)
{
    Tree tree;
    tree[ElementPath::root()] = {};
    std::map<std::uint8_t, double> rates;
    for (std::uint8_t index = 0; index < plan.wanted.ets->classes; ++index) {
        const dcb::TrafficClass& each = plan.wanted.ets->traffic_class.at(index);
        rates[index] = 0;
        if (each.selection == dcb::Selection::Ets && each.weight > 0) {
            tree[ElementPath::root().child(fmt::format("{}", index))] = {
                ElementKind::Leaf, ElementPath::root(), {each.weight, each.max_rate}};
        }
    }
    const Bandwidth whole = Bandwidth::from_computed(link);
    if (whole.is_zero()) {
        return rates;
    }
    for (const auto& [path, allocation] : solve(tree, whole, all_backlogged(tree))) {
        if (!path.is_root()) {
            rates[static_cast<std::uint8_t>(std::atoi(std::string(path.name()).c_str()))] = allocation.kbps;
        }
    }
    return rates;
}

// As the reference of the tree has it; strict children and everything outside the policy have their part before.
std::vector<double> exact_rates(const Requests& requests, const Plan& plan, const Options& options)
{
    rdmaqos::test::Wish root;
    root.is_leaf = false;
    double guaranteed = 0;
    for (const ClassRequest& child : requests.children) {
        rdmaqos::test::Wish wish;
        if (!is_first(plan, child)) {
            wish.min = child.min_rate ? static_cast<double>(child.min_rate->kbps()) : 0;
        }
        wish.cap = is_first(plan, child) ? 0
                   : child.max_rate      ? static_cast<double>(child.max_rate->kbps())
                                         : rdmaqos::test::kNoLimit;
        wish.share = child.share;
        guaranteed += std::min(wish.min, wish.cap);
        root.below.push_back(wish);
    }
    const double left = left_by_first(requests, plan, options);
    const auto link = static_cast<double>(options.link_speed.kbps());
    const double most = std::min(link * options.others_percent / 100, left / 2);
    const double others = std::max(std::min(most, left - guaranteed), 0.01 * left);
    rdmaqos::test::find_usable(root);
    rdmaqos::test::fill(root, left - others);
    std::vector<double> rates;
    for (const auto& wish : root.below) {
        rates.push_back(wish.rate);
    }
    return rates;
}

// What a failure prints: the policy, the plan and its findings.
std::string in_words(const Requests& requests, const Plan& plan, const Options& options)
{
    std::string text = fmt::format("link {}, others {} %\n", to_string(options.link_speed), options.others_percent);
    for (const ClassRequest& child : requests.children) {
        text += fmt::format("{}: share {}, min {}, max {}{}\n", child.path.text(), child.share,
                            child.min_rate ? to_string(*child.min_rate) : "-",
                            child.max_rate ? to_string(*child.max_rate) : "-", child.strict ? ", strict" : "");
    }
    for (std::uint8_t index = 0; index < plan.wanted.ets->classes; ++index) {
        const dcb::TrafficClass& each = plan.wanted.ets->traffic_class.at(index);
        text += fmt::format("class {}: {}, max {}:", index,
                            each.selection == dcb::Selection::Strict ? "strict" : std::to_string(each.weight),
                            each.max_rate ? to_string(*each.max_rate) : "-");
        for (const ElementPath& child : plan.uses.at(index).children) {
            text += " " + child.text();
        }
        text += "\n";
    }
    for (const Finding& finding : plan.findings) {
        text += fmt::format("finding: {}: {}\n", finding.path.text(), to_string(finding));
    }
    return text;
}

class Judge {
public:
    int alone = 0;         // children with a class for themselves
    int off = 0;           // of these, further off than 5 %, with a finding
    std::string silent;    // the first one without

    void judge(const Requests& requests, const Plan& plan, const Options& options, const Rules& rules)
    {
        const auto exact = exact_rates(requests, plan, options);
        const auto rates = rates_of_classes(plan, left_by_first(requests, plan, options));
        for (std::size_t index = 0; index < requests.children.size(); ++index) {
            const ClassRequest& child = requests.children[index];
            judge_strict(child, requests, plan, options, rules);
            const auto its = class_for_itself(plan, child);
            if (!its) {
                complain_unless(has_finding(plan, child.path, {FindingKind::TrafficClass}, "a traffic class"), child,
                                "has no class for itself");
                continue;
            }
            ++alone;
            judge_cap(child, plan.wanted.ets->traffic_class.at(*its).max_rate, plan, options);
            if (is_first(plan, child)) {
                continue;    // judge_strict()
            }
            const double rate = rates.at(*its);
            if (std::abs(rate - exact[index]) > kTolerance * exact[index] + kRoundingKbps) {
                ++off;
                // Unless it is a cap's rounding.
                complain_unless(
                    has_finding(plan, child.path, {FindingKind::ShareError, FindingKind::MinRateMissed}) ||
                        (rules.max_rates &&
                         has_finding(plan, child.path, {FindingKind::CapLost, FindingKind::TrafficClass}, "max-rate")),
                    child, fmt::format("gets {:.0f} in place of {:.0f} kbit/s", rate, exact[index]));
            }
            if (child.min_rate && rate + kRoundingKbps < static_cast<double>(child.min_rate->kbps())) {
                complain_unless(has_finding(plan, child.path, {FindingKind::MinRateMissed}), child,
                                "misses its guarantee");
            }
        }
    }

    int first = 0;    // children with a strict class for themselves

private:
    void judge_strict(const ClassRequest& child, const Requests& requests, const Plan& plan, const Options& options,
                      const Rules& rules)
    {
        if (!child.strict) {
            complain_unless(!is_first(plan, child), child, "is strict, and was not asked to be");
            return;
        }
        const auto its = class_for_itself(plan, child);
        if (!is_first(plan, child)) {
            complain_unless(has_finding(plan, child.path, {FindingKind::NotSupported}, "`strict`"), child,
                            "is not strict");
        } else if (its) {
            ++first;
            const bool is_capped = rules.max_rates && plan.wanted.ets->traffic_class.at(*its).max_rate;
            const bool is_enough = left_by_first(requests, plan, options) > 0;
            complain_unless((is_capped && is_enough) ||
                                has_finding(plan, child.path, {FindingKind::TrafficClass}, "`strict`"),
                            child, "is strict, and can take the link, or not have what it asks for");
        }
    }

    void judge_cap(const ClassRequest& child, const std::optional<Bandwidth>& has, const Plan& plan,
                   const Options& options)
    {
        if (child.max_rate && *child.max_rate < options.link_speed && (!has || *has > *child.max_rate)) {
            complain_unless(has_finding(plan, child.path, {FindingKind::CapLost}, "max-rate"), child,
                            "can exceed its cap");
        }
    }

    void complain_unless(bool is_fine, const ClassRequest& child, const std::string& complaint)
    {
        if (!is_fine && silent.empty()) {
            silent = fmt::format("{} {}", child.path.text(), complaint);
        }
    }
};

Plan plan_of(const Requests& requests, const Options& options = {})
{
    return plan(requests, started("mlx5_core"), rules("mlx5_core"), options);
}

// What is lost by the steps of maximum rates and by whole percents is each less than 5 %, and together more.
TEST(PortClassesFairness, RoundingsAddUp)
{
    Judge judge;
    for (std::uint64_t cap = 2'100; cap < 2'200 && judge.silent.empty(); cap += 11) {
        for (std::uint32_t share = 5; share < 60 && judge.silent.empty(); share += 3) {
            const Requests requests{{capped(child("capped", 90, 2), mbps(cap)), child("small", share, 4),
                                     child("large", 137 - share, 6), guaranteed(child("promised", 1, 8), mbps(25'992))},
                                    {}};
            const Plan planned = plan_of(requests);
            judge.judge(requests, planned, {}, rules("mlx5_core"));
            EXPECT_EQ(judge.silent, "") << in_words(requests, planned, {});
        }
    }
}

TEST(PortClassesFairness, StrictClassesWithoutEnoughForAll)
{
    const Requests requests{{strict(capped(child("one", 1, 2), mbps(60'000))),
                             strict(capped(child("two", 1, 4), mbps(50'000))),
                             guaranteed(child("promised", 1, 6), mbps(900)), child("free", 1, 8)},
                            {}};
    const Plan planned = plan_of(requests);
    for (const char* const name : {"/one", "/two"}) {
        EXPECT_TRUE(has_finding(planned, ElementPath(name), {FindingKind::TrafficClass}, "`strict`")) << name;
    }
    EXPECT_TRUE(has_finding(planned, ElementPath("/promised"), {FindingKind::MinRateMissed}))
        << in_words(requests, planned, {});
    // Nothing is wrong where they fit.
    const Requests fitting{{strict(capped(child("one", 1, 2), mbps(60'000))),
                            strict(capped(child("two", 1, 4), mbps(30'000))), child("free", 1, 8)},
                           {}};
    EXPECT_TRUE(plan_of(fitting).findings.empty()) << in_words(fitting, plan_of(fitting), {});
}

// What strict classes leave is not all for those outside the policy.
TEST(PortClassesFairness, LittleThatIsLeftIsForThePolicyToo)
{
    const Requests requests{{strict(capped(child("control", 1, 2), mbps(96'000))), child("free", 1, 4)}, {}};
    const Plan planned = plan_of(requests);
    EXPECT_EQ(planned.wanted.ets->traffic_class[0].weight, 50) << in_words(requests, planned, {});
}

TEST(PortClassesFairness, NobodyIsSilentlyOff)
{
    constexpr int kPolicies = 1000;
    const char* const chosen = std::getenv("RDMAQOS_SEED");
    for (const std::string_view driver : {"mlx5_core", "bnxt_en", "ice", "hns3"}) {
        RandomPolicies random(chosen != nullptr ? static_cast<std::uint32_t>(std::atoi(chosen)) : 1);
        Judge judge;
        for (int policy = 0; policy < kPolicies; ++policy) {
            const Bandwidth link = gbps(random.one_in(2) ? 100 : random.one_in(2) ? 25 : 400);
            const Requests requests = random.requests(link, true);
            const auto before = random.port(driver);
            const Options options = random.options(link);
            const Plan planned = plan(requests, before, rules(driver), options);
            std::uint32_t sum = 0;
            for (std::size_t index = 0; index < planned.wanted.ets->classes && planned.has_classes; ++index) {
                const auto& each = planned.wanted.ets->traffic_class.at(index);
                const bool divides = each.selection == dcb::Selection::Ets;
                sum += divides ? each.weight : 0;
                EXPECT_TRUE(!planned.uses.at(index).is_used() || !divides || each.weight > 0) << driver << policy;
            }
            EXPECT_TRUE(!planned.has_classes || sum == 100) << driver << " policy " << policy;
            if (planned.has_classes) {
                EXPECT_TRUE(
                    dcb::objections(*dcb::find_driver(driver), *planned.wanted.ets, before.ets->classes).empty());
                judge.judge(requests, planned, options, rules(driver));
            }
            ASSERT_EQ(judge.silent, "") << driver << " policy " << policy << "\n"
                                        << in_words(requests, planned, options);
        }
        // The most is decided by whole percents: small parts of a fast link.
        EXPECT_GT(judge.alone, kPolicies / 2) << driver;
        EXPECT_LT(judge.off, judge.alone / 2) << driver;
        EXPECT_GT(judge.first, kPolicies / 20) << driver;
        std::printf("%s: %d children with a class for themselves, %d of them strict, %d off by more than 5 %%, all "
                    "with a finding\n",
                    std::string(driver).c_str(), judge.alone, judge.first, judge.off);
    }
}

}    // namespace
}    // namespace rdmaqos::port_classes::test
