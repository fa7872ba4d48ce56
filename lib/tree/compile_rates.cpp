#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/tree/compile_draft.h"
#include "lib/tree/compile_weights.h"
#include "lib/tree/max_min.h"

namespace rdmaqos::compiling {
namespace {

constexpr double kToleratedError = 0.05;

// One competitor of a sibling group on the device; below a folded node it carries a part of that node's fraction.
struct Sibling {
    Index element = kNone;
    WeightTarget target;
};

// What a logical node hands to its children: its part of the group's capacity.
struct Part {
    double fraction = 1;
    double kbps = 0;
    std::uint64_t min_kbps = 0;    // guarantee inherited from a folded node
    bool is_group = true;          // false: the node is folded
};

Bandwidth whole_mbps(Bandwidth rate)
{
    return Bandwidth::from_mbps(std::max<std::uint64_t>(rate.mbps(), 1));
}

// A part of nothing is nothing: what is divided by can be 0 where a small cap is split among many.
double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

std::uint32_t share_or_one(const RateSpec& rate)
{
    return std::max(rate.share.value_or(1), 1U);
}

class Rates {
public:
    Rates(Draft& draft, const CompileInput& input, std::vector<Finding>& findings)
        : draft_(draft), capabilities_(input.capabilities), findings_(findings),
          link_known_(!input.link_speed.is_zero()), link_(link_known_ ? input.link_speed : kNominalLink),
          has_shares_(input.capabilities.shares && input.capabilities.max_share > 0)
    {
    }

    void run()
    {
        report_caps();
        assign_caps();
        find_demands();
        draft_.elements[kRoot].guaranteed = static_cast<double>(link_.kbps());
        for (Index node = 0; node < draft_.elements.size(); ++node) {
            if (!draft_.elements[node].folded && !draft_.elements[node].children.empty()) {
                divide(node);
            }
        }
        if (link_known_) {
            report_min_rates();
        }
    }

private:
    void assign_caps()
    {
        if (!capabilities_.rate_caps) {
            return;
        }
        for (Index index = 1; index < draft_.elements.size(); ++index) {
            auto& element = draft_.elements[index];
            // A folded node's cap lives on in each of its children, as far as it can.
            const auto& parent = draft_.elements[element.parent];
            auto cap = parent.folded ? parent.max_rate : std::nullopt;
            if (element.rate.max_rate) {
                const Bandwidth own = whole_mbps(*element.rate.max_rate);
                cap = cap ? std::min(*cap, own) : own;
            }
            element.max_rate = cap;
        }
    }

    // The most an element can use: its own cap and what is below it.
    void find_demands()
    {
        demands_.resize(draft_.elements.size());
        std::vector<Bandwidth> sum_below(draft_.elements.size());
        std::vector<bool> unlimited_below(draft_.elements.size(), false);
        for (Index index = draft_.elements.size(); index-- > 1;) {
            const auto& element = draft_.elements[index];
            if (element.folded) {
                continue;
            }
            auto demand = element.max_rate;
            if (!element.children.empty() && !unlimited_below[index]) {
                demand = std::min(demand.value_or(sum_below[index]), sum_below[index]);
            }
            demands_[index] = demand;
            const Index parent = draft_.kept_parent(index);
            sum_below[parent] = sum_below[parent] + demand.value_or(Bandwidth());
            unlimited_below[parent] = unlimited_below[parent] || !demand;
        }
    }

    void divide(Index node)
    {
        const double capacity = draft_.elements[node].guaranteed;
        std::vector<Sibling> siblings;
        collect(node, {1.0, capacity, 0, true}, siblings);
        std::vector<std::uint32_t> weights;
        if (!has_shares_) {
            weights.assign(siblings.size(), 1);
            report_no_shares(node, siblings);
        } else if (keeps_shares(node)) {
            for (const auto& sibling : siblings) {
                weights.push_back(share_or_one(draft_.elements[sibling.element].rate));
            }
        } else {
            weights = choose(node, siblings, capacity);
        }
        for (std::size_t i = 0; i < siblings.size(); ++i) {
            const bool on_wire = has_shares_ && !siblings[i].target.fixed;
            draft_.elements[siblings[i].element].share = on_wire ? weights[i] : 0;
        }
        fill(siblings, weights, capacity);
    }

    // The administrator's own numbers, where the device takes them as they are.
    [[nodiscard]] bool keeps_shares(Index node) const
    {
        const auto& children = draft_.elements[node].children;
        return std::all_of(children.begin(), children.end(), [this](Index index) {
            const auto& child = draft_.elements[index];
            return !child.folded && !child.rate.min_rate && share_or_one(child.rate) <= capabilities_.max_share;
        });
    }

    void collect(Index node, const Part& part, std::vector<Sibling>& siblings)
    {
        const auto& children = draft_.elements[node].children;
        double mins = 0;
        double shares = 0;
        for (const Index index : children) {
            const auto& rate = draft_.elements[index].rate;
            if (rate.min_rate) {
                mins += static_cast<double>(rate.min_rate->kbps());
            } else if (!part.is_group || rate.share) {
                shares += share_or_one(rate);
            }
        }
        const bool all_to_mins = mins > 0 && (shares <= 0 || mins >= part.kbps);
        const double to_mins = all_to_mins ? 1.0 : ratio(mins, part.kbps);
        for (const Index index : children) {
            const auto& rate = draft_.elements[index].rate;
            const bool fixed = part.is_group && !rate.min_rate && !rate.share;
            double fraction = 0;
            if (rate.min_rate) {
                fraction = to_mins * ratio(static_cast<double>(rate.min_rate->kbps()), mins);
            } else if (!fixed) {
                fraction = (1.0 - to_mins) * ratio(share_or_one(rate), shares);
            }
            hand_down(index, part, fraction, fixed, siblings);
        }
    }

    void hand_down(Index index, const Part& part, double fraction, bool fixed, std::vector<Sibling>& siblings)
    {
        auto& element = draft_.elements[index];
        const auto inherited = static_cast<std::uint64_t>(std::ceil(static_cast<double>(part.min_kbps) * fraction));
        const std::uint64_t own = element.rate.min_rate.value_or(Bandwidth()).kbps();
        Part child{part.fraction * fraction, part.kbps * fraction, std::max(own, inherited), false};
        if (!element.folded) {
            siblings.push_back({index, {child.fraction, fixed ? 0 : child.min_kbps, fixed}});
            return;
        }
        if (element.rate.max_rate) {
            child.kbps = std::min(child.kbps, static_cast<double>(element.rate.max_rate->kbps()));
        }
        element.wanted = child.kbps;
        element.fraction = child.fraction;
        collect(index, child, siblings);
    }

    std::vector<std::uint32_t> choose(Index node, const std::vector<Sibling>& siblings, double capacity)
    {
        std::vector<WeightTarget> targets;
        targets.reserve(siblings.size());
        for (const auto& sibling : siblings) {
            targets.push_back(sibling.target);
        }
        auto chosen = choose_weights(targets, Bandwidth::from_computed(capacity).kbps(), capabilities_.max_share);
        report_deviations(node, siblings, chosen.reached, capacity);
        return std::move(chosen.weights);
    }

    // One finding for each element of the policy, and one for all principals of a class.
    void report_deviations(Index node, const std::vector<Sibling>& siblings, const std::vector<double>& reached,
                           double capacity)
    {
        const auto is_guaranteed = [](const Sibling& sibling) { return sibling.target.min_kbps != 0; };
        if (!link_known_ && std::any_of(siblings.begin(), siblings.end(), is_guaranteed)) {
            return;
        }
        std::set<Index> told;    // classes, of their principals
        for (std::size_t i = 0; i < siblings.size(); ++i) {
            const auto& [index, target] = siblings[i];
            const double deviation = std::abs(reached[i] - target.fraction);
            const auto& element = draft_.elements[index];
            const bool is_missed = reached[i] * capacity < static_cast<double>(target.min_kbps);
            if (target.fixed || is_missed || deviation <= kToleratedError * target.fraction || target.fraction <= 0 ||
                (!element.from_policy && !told.insert(class_of(index)).second)) {
                continue;
            }
            findings_.push_back(deviation_of(node, siblings[i], reached[i], capacity));
        }
    }

    [[nodiscard]] Finding deviation_of(Index node, const Sibling& sibling, double reached, double capacity) const
    {
        const auto& element = draft_.elements[sibling.element];
        const std::string range = fmt::format("shares are whole numbers from 1 to {} on this device",
                                              capabilities_.max_share);
        const double wanted = sibling.target.fraction * capacity;
        if (element.rate.min_rate && wanted <= static_cast<double>(element.rate.min_rate->kbps()) + 1) {
            return {FindingKind::ShareError,
                    false,
                    element.path,
                    "min-rate " + to_string(*element.rate.min_rate),
                    fmt::format("{}, so that its siblings get less",
                                to_string(Bandwidth::from_mbps(Bandwidth::from_computed(reached * capacity).mbps()))),
                    range};
        }
        const Index policy = class_of(sibling.element);
        return {FindingKind::ShareError,
                false,
                draft_.elements[policy].path,
                fmt::format("{:.2f} % of {}{}", sibling.target.fraction * 100, draft_.elements[node].path.text(),
                            element.from_policy ? "" : " for each principal"),
                fmt::format("{:.2f} %", reached * 100),
                range};
    }

    // What each gets when all are busy.
    void fill(const std::vector<Sibling>& siblings, const std::vector<std::uint32_t>& weights, double capacity)
    {
        std::vector<Claim> claims(siblings.size());
        for (std::size_t i = 0; i < claims.size(); ++i) {
            claims[i].weight = weights[i];
            if (const auto& demand = demands_[siblings[i].element]) {
                claims[i].wanted = static_cast<double>(demand->kbps());
            }
        }
        const auto rates = divide_max_min(capacity, claims);
        for (std::size_t i = 0; i < rates.size(); ++i) {
            draft_.elements[siblings[i].element].guaranteed = rates[i];
        }
    }

    void report_no_shares(Index node, const std::vector<Sibling>& siblings)
    {
        const auto differs = [this, &siblings](const Sibling& sibling) {
            const auto& rate = draft_.elements[sibling.element].rate;
            return rate.share && siblings.front().target.fraction != sibling.target.fraction;
        };
        if (std::any_of(siblings.begin(), siblings.end(), differs)) {
            findings_.push_back({FindingKind::NotSupported, true, draft_.elements[node].path,
                                 fmt::format("different shares for its {}", counted(siblings.size(), "element")),
                                 "they get equal parts", "the device has no shares",
                                 Gap{Gap::Unit::Elements, siblings.size()}});
        }
    }

    void report_caps()
    {
        std::map<Index, std::size_t> principals;
        for (Index index = 1; index < draft_.elements.size(); ++index) {
            const auto& element = draft_.elements[index];
            if (!element.rate.max_rate) {
                continue;
            }
            if (!element.from_policy) {
                ++principals[class_of(index)];
                continue;
            }
            if (!capabilities_.rate_caps) {
                findings_.push_back({FindingKind::NotSupported, true, element.path, cap_text(element),
                                     "it is not capped", "the device has no caps on scheduling elements",
                                     Gap::between(*element.rate.max_rate, link_)});
            } else if (link_known_ && *element.rate.max_rate > link_) {
                findings_.push_back({FindingKind::CapAboveLink, false, element.path, cap_text(element),
                                     to_string(link_), "the port is slower than the cap, which has no effect"});
            }
        }
        for (const auto& [index, count] : principals) {
            if (!capabilities_.rate_caps) {
                findings_.push_back({FindingKind::NotSupported, true, draft_.elements[index].path,
                                     fmt::format("a max-rate for each of {}", counted(count, "principal")),
                                     "they are not capped", "the device has no caps on scheduling elements",
                                     Gap{Gap::Unit::Principals, count}});
            }
        }
    }

    [[nodiscard]] Index class_of(Index index) const
    {
        while (!draft_.elements[index].from_policy && index != kRoot) {
            index = draft_.elements[index].parent;
        }
        return index;
    }

    static std::string cap_text(const DraftElement& element) { return "max-rate " + to_string(*element.rate.max_rate); }

    void report_min_rates()
    {
        for (Index index = 1; index < draft_.elements.size(); ++index) {
            const auto& element = draft_.elements[index];
            if (!element.rate.min_rate) {
                continue;
            }
            double kbps = element.guaranteed;
            if (element.folded) {
                for (const Index child : draft_.kept_children(index)) {
                    kbps += draft_.elements[child].guaranteed;
                }
            }
            const Bandwidth reached = Bandwidth::from_computed(kbps);
            if (reached < *element.rate.min_rate) {
                report_missed(index, reached);
            }
        }
    }

    void report_missed(Index index, Bandwidth reached)
    {
        const auto& element = draft_.elements[index];
        const Index parent = draft_.kept_parent(index);
        const auto& above = draft_.elements[parent];
        const std::string holder = parent == kRoot ? std::string("the port")
                                                   : fmt::format("its parent {}", above.path.text());
        std::string why;
        if (!has_shares_) {
            why = "the device has no shares, so all siblings get equal parts";
        } else if (element.max_rate && *element.max_rate < *element.rate.min_rate) {
            why = fmt::format("its cap is {}", to_string(*element.max_rate));
        } else {
            why = fmt::format("{} has {} for {} when all are busy", holder,
                              to_string(Bandwidth::from_computed(above.guaranteed)),
                              counted(draft_.kept_children(parent).size(), "element"));
        }
        // Whole Mbit/s, rounded down: 9.999 must not read as 10.
        findings_.push_back({FindingKind::MinRateMissed, true, element.path,
                             "min-rate " + to_string(*element.rate.min_rate),
                             to_string(Bandwidth::from_mbps(reached.mbps())), std::move(why),
                             Gap::between(reached, *element.rate.min_rate)});
    }

    Draft& draft_;
    const Capabilities& capabilities_;
    std::vector<Finding>& findings_;
    bool link_known_;
    Bandwidth link_;
    bool has_shares_;
    std::vector<std::optional<Bandwidth>> demands_;
};

}    // namespace

void assign_rates(Draft& draft, const CompileInput& input, std::vector<Finding>& findings)
{
    Rates(draft, input, findings).run();
}

}    // namespace rdmaqos::compiling
