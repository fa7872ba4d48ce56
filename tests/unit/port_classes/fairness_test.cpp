// Random policies, as traffic classes of each driver and in exact arithmetic: a child of the root that has a class for
// itself gets its part when all are busy, within 5 %, or there is a finding of it. A cap is never exceeded without one.
#include <cstdlib>
#include <map>

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

bool has_finding(const Plan& plan, const ElementPath& path)
{
    return std::ranges::any_of(plan.findings, [&](const Finding& finding) { return finding.path == path; });
}

// By the weights and caps that the port is set to, when all classes are busy.
std::map<std::uint8_t, double> rates_of_classes(const Plan& plan, Bandwidth link)
{
    Tree tree;
    tree[ElementPath::root()] = {};
    std::map<std::uint8_t, double> rates;
    for (std::uint8_t index = 0; index < plan.wanted.ets->classes; ++index) {
        const dcb::TrafficClass& each = plan.wanted.ets->traffic_class.at(index);
        if (each.selection == dcb::Selection::Ets && each.weight > 0) {
            tree[ElementPath::root().child(fmt::format("{}", index))] = {
                ElementKind::Leaf, ElementPath::root(), {each.weight, each.max_rate}};
        }
    }
    for (const auto& [path, allocation] : solve(tree, link, all_backlogged(tree))) {
        if (!path.is_root()) {
            rates[static_cast<std::uint8_t>(std::atoi(std::string(path.name()).c_str()))] = allocation.kbps;
        }
    }
    return rates;
}

// As the reference of the tree has it; everything outside the policy has its part before.
std::vector<double> exact_rates(const Requests& requests, const Options& options)
{
    rdmaqos::test::Wish root;
    root.is_leaf = false;
    double guaranteed = 0;
    for (const ClassRequest& child : requests.children) {
        rdmaqos::test::Wish wish;
        wish.min = child.min_rate ? static_cast<double>(child.min_rate->kbps()) : 0;
        wish.cap = child.max_rate ? static_cast<double>(child.max_rate->kbps()) : rdmaqos::test::kNoLimit;
        wish.share = child.share;
        guaranteed += std::min(wish.min, wish.cap);
        root.below.push_back(wish);
    }
    const auto link = static_cast<double>(options.link_speed.kbps());
    const double others = std::clamp(link - guaranteed, 0.01 * link, link * options.others_percent / 100);
    rdmaqos::test::find_usable(root);
    rdmaqos::test::fill(root, link - others);
    std::vector<double> rates;
    for (const auto& wish : root.below) {
        rates.push_back(wish.rate);
    }
    return rates;
}

class Judge {
public:
    int alone = 0;         // children with a class for themselves
    int off = 0;           // of these, further off than 5 %, with a finding
    std::string silent;    // the first one without

    void judge(const Requests& requests, const Plan& plan, const Options& options, bool has_caps)
    {
        const auto exact = exact_rates(requests, options);
        const auto rates = rates_of_classes(plan, options.link_speed);
        for (std::size_t index = 0; index < requests.children.size(); ++index) {
            const ClassRequest& child = requests.children[index];
            const auto its = class_for_itself(plan, child);
            if (!its) {
                complain_unless(has_finding(plan, child.path), child, "has no class for itself");
                continue;
            }
            ++alone;
            const double rate = rates.at(*its);
            if (std::abs(rate - exact[index]) > kTolerance * exact[index] + kRoundingKbps) {
                ++off;
                complain_unless(has_finding(plan, child.path), child,
                                fmt::format("gets {:.0f} in place of {:.0f} kbit/s", rate, exact[index]));
            }
            if (child.min_rate && rate + kRoundingKbps < static_cast<double>(child.min_rate->kbps())) {
                complain_unless(has_finding(plan, child.path), child, "misses its guarantee");
            }
            const auto& cap = plan.wanted.ets->traffic_class.at(*its).max_rate;
            if (child.max_rate && *child.max_rate < options.link_speed &&
                (!has_caps || !cap || *cap > *child.max_rate)) {
                complain_unless(has_finding(plan, child.path), child, "can exceed its cap");
            }
        }
    }

private:
    static std::optional<std::uint8_t> class_for_itself(const Plan& plan, const ClassRequest& child)
    {
        for (std::uint8_t index = 1; index < plan.uses.size(); ++index) {
            if (plan.uses.at(index).children == std::vector{child.path}) {
                return index;
            }
        }
        return std::nullopt;
    }

    void complain_unless(bool is_fine, const ClassRequest& child, const std::string& complaint)
    {
        if (!is_fine && silent.empty()) {
            silent = fmt::format("{} {}", child.path.text(), complaint);
        }
    }
};

TEST(PortClassesFairness, NobodyIsSilentlyOff)
{
    constexpr int kPolicies = 1000;
    const char* const chosen = std::getenv("RDMAQOS_SEED");
    for (const std::string_view driver : {"mlx5_core", "bnxt_en", "ice", "hns3"}) {
        RandomPolicies random(chosen != nullptr ? static_cast<std::uint32_t>(std::atoi(chosen)) : 1);
        Judge judge;
        for (int policy = 0; policy < kPolicies; ++policy) {
            const Bandwidth link = gbps(random.one_in(2) ? 100 : random.one_in(2) ? 25 : 400);
            const Requests requests = random.requests(link);
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
                judge.judge(requests, planned, options, rules(driver).max_rates.has_value());
            }
            ASSERT_EQ(judge.silent, "") << driver << " policy " << policy;
        }
        // The most is decided by whole percents: small parts of a fast link.
        EXPECT_GT(judge.alone, kPolicies / 2) << driver;
        EXPECT_LT(judge.off, judge.alone / 2) << driver;
        std::printf(
            "%s: %d children with a class for themselves, %d of them off by more than 5 %%, all with a finding\n",
            std::string(driver).c_str(), judge.alone, judge.off);
    }
}

}    // namespace
}    // namespace rdmaqos::port_classes::test
