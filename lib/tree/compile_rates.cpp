#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/tree/compile_draft.h"
#include "lib/tree/compile_weights.h"
#include "lib/tree/fair_parts.h"
#include "lib/tree/max_min.h"

namespace rdmaqos::compiling {
namespace {

constexpr double kToleratedError = 0.05;
constexpr double kNoise = 1e-9;
constexpr double kRounding = 1e-3;    // kbit/s, of computing with doubles

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// One competitor of a sibling group on the device; below a folded node it has a part of what that node would have.
struct Sibling {
    Index element = kNone;
    double wanted = 0;    // kbit/s
    WeightTarget target;
};

// What a logical node hands to its children.
struct Part {
    double kbps = 0;
    double min_kbps = 0;    // guarantee inherited from a folded node
};

double in_kbps(Bandwidth rate)
{
    return static_cast<double>(rate.kbps());
}

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
        find_owed();
        find_ideals();
        draft_.elements[kRoot].guaranteed = static_cast<double>(link_.kbps());
        for (Index node = 0; node < draft_.elements.size(); ++node) {
            if (!draft_.elements[node].folded && !draft_.elements[node].children.empty()) {
                divide(node);
            }
        }
        if (link_known_) {
            report_min_rates();
            report_shortfalls();
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

    // The most that each can use: its cap and what is below it. On the device, the cap of a folded node lives on in its
    // children only. Below a node without leaves nobody ever sends. How much principals can use together does not
    // count: they come and go.
    void find_demands()
    {
        const auto& elements = draft_.elements;
        std::vector<double> below(elements.size(), 0.0);
        std::vector<double> below_on_device(elements.size(), 0.0);
        usable_.resize(elements.size(), kUnlimited);
        usable_on_device_.resize(elements.size(), kUnlimited);
        for (Index index = elements.size(); index-- > 1;) {
            const auto& element = elements[index];
            const bool is_open = element.kind == ElementKind::Leaf || element.has_principals;
            const auto own_cap = capabilities_.rate_caps ? element.rate.max_rate : std::nullopt;
            usable_[index] = std::min(own_cap ? in_kbps(whole_mbps(*own_cap)) : kUnlimited,
                                      is_open ? kUnlimited : below[index]);
            below[element.parent] += usable_[index];
            if (!element.folded) {
                usable_on_device_[index] = std::min(element.max_rate ? in_kbps(*element.max_rate) : kUnlimited,
                                                    is_open ? kUnlimited : below_on_device[index]);
                below_on_device[draft_.kept_parent(index)] += usable_on_device_[index];
            }
        }
    }

    // What those below are guaranteed.
    void find_owed()
    {
        const auto& elements = draft_.elements;
        owed_.resize(elements.size(), 0.0);
        for (Index index = elements.size(); index-- > 1;) {
            const double own = in_kbps(elements[index].rate.min_rate.value_or(Bandwidth()));
            owed_[index] = std::min(std::max(own, owed_[index]), usable_[index]);
            owed_[elements[index].parent] += owed_[index];
        }
    }

    // What the policy gives everybody when all are busy, whatever the device makes of it.
    void find_ideals()
    {
        auto& elements = draft_.elements;
        elements[kRoot].ideal = in_kbps(link_);
        for (Index node = 0; node < elements.size(); ++node) {
            const auto& children = elements[node].children;
            const auto claims = claims_of(node);
            const bool is_known = std::none_of(claims.begin(), claims.end(), is_default);
            const auto parts = divide_fairly(elements[node].ideal, claims);
            for (std::size_t i = 0; i < children.size(); ++i) {
                elements[children[i]].ideal = is_known ? parts[i] : 0;
            }
        }
    }

    static bool is_default(const FairClaim& claim)
    {
        return claim.share == 0 && claim.guarantee == 0 && claim.most > 0;
    }

    // Of a folded node's children, one with the device's default share counts as one share.
    [[nodiscard]] std::vector<FairClaim> claims_of(Index node) const
    {
        const auto& above = draft_.elements[node];
        std::vector<FairClaim> claims;
        claims.reserve(above.children.size());
        for (const Index index : above.children) {
            const auto& rate = draft_.elements[index].rate;
            const bool is_default_share = !rate.share && !above.folded;
            claims.push_back({usable_[index], rate.min_rate.value_or(Bandwidth()).kbps(),
                              is_default_share ? 0 : share_or_one(rate)});
        }
        return claims;
    }

    void divide(Index node)
    {
        const double capacity = draft_.elements[node].guaranteed;
        std::vector<Sibling> siblings;
        collect(node, {capacity, 0}, capacity, siblings);
        find_contested(siblings, capacity);
        std::vector<std::uint32_t> weights;
        if (!has_shares_) {
            weights.assign(siblings.size(), 1);
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
        if (!has_shares_) {
            report_no_shares(node, siblings, capacity);
        }
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

    void collect(Index node, const Part& part, double capacity, std::vector<Sibling>& siblings)
    {
        const auto& children = draft_.elements[node].children;
        const auto claims = claims_of(node);
        const auto parts = divide_fairly(part.kbps, claims);
        const auto inherited = divide_fairly(part.min_kbps, claims);
        for (std::size_t i = 0; i < children.size(); ++i) {
            const Index index = children[i];
            const Part child{parts[i], std::max(static_cast<double>(claims[i].guarantee), inherited[i])};
            if (draft_.elements[index].folded) {
                draft_.elements[index].wanted = child.kbps;
                collect(index, child, capacity, siblings);
            } else {
                siblings.push_back(
                    {index, child.kbps, target_of(index, child, capacity, is_default_share(node, index))});
            }
        }
    }

    // Of the folded nodes between a node and those that are its children on the device.
    void find_contested(const std::vector<Sibling>& siblings, double capacity)
    {
        const auto is_sated = [this](const Sibling& one) {
            return one.wanted + kRounding >= usable_on_device_[one.element];
        };
        double contested = capacity;
        for (const auto& sibling : siblings) {
            contested -= is_sated(sibling) ? sibling.wanted : 0;
        }
        for (const auto& sibling : siblings) {
            for (Index at = parent_of(sibling); draft_.elements[at].folded; at = draft_.elements[at].parent) {
                draft_.elements[at].contested = std::max(contested, 0.0);
            }
        }
        for (const auto& sibling : siblings) {
            for (Index at = parent_of(sibling); draft_.elements[at].folded; at = draft_.elements[at].parent) {
                draft_.elements[at].contested += is_sated(sibling) ? sibling.wanted : 0;
            }
        }
    }

    [[nodiscard]] Index parent_of(const Sibling& sibling) const { return draft_.elements[sibling.element].parent; }

    // Only the device knows its weight.
    [[nodiscard]] bool is_default_share(Index parent, Index index) const
    {
        const auto& rate = draft_.elements[index].rate;
        return !draft_.elements[parent].folded && !rate.min_rate && !rate.share;
    }

    [[nodiscard]] WeightTarget target_of(Index index, const Part& part, double capacity, bool fixed) const
    {
        const double usable = usable_on_device_[index];
        WeightTarget target{ratio(part.kbps, capacity), 0, fixed};
        if (!fixed) {
            // A share that has room for the guarantees below it shall not lose them by rounding.
            const double owed = link_known_ && owed_[index] <= part.kbps ? owed_[index] : 0;
            const double least = std::min(std::max(part.min_kbps, owed), usable);
            target.min_kbps = static_cast<std::uint64_t>(std::ceil(least - kRounding));
        }
        if (usable < kUnlimited) {
            target.most_kbps = Bandwidth::from_computed(usable).kbps();
        }
        return target;
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
        std::set<Index> reported;    // classes, of their principals
        for (std::size_t i = 0; i < siblings.size(); ++i) {
            const auto& [index, wanted, target] = siblings[i];
            const double deviation = std::abs(reached[i] - target.fraction);
            const auto& element = draft_.elements[index];
            const bool is_missed = reached[i] * capacity < static_cast<double>(target.min_kbps);
            if (target.fixed || is_missed || deviation <= kToleratedError * target.fraction || target.fraction <= 0 ||
                (!element.from_policy && !reported.insert(class_of(index)).second)) {
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
        if (element.rate.min_rate && sibling.wanted <= in_kbps(*element.rate.min_rate) + 1) {
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
            claims[i] = {usable_on_device_[siblings[i].element], weights[i]};
        }
        const auto rates = divide_max_min(capacity, claims);
        for (std::size_t i = 0; i < rates.size(); ++i) {
            draft_.elements[siblings[i].element].guaranteed = rates[i];
        }
    }

    void report_no_shares(Index node, const std::vector<Sibling>& siblings, double capacity)
    {
        const auto is_fixed = [](const Sibling& sibling) { return sibling.target.fixed; };
        const bool has_fixed = std::any_of(siblings.begin(), siblings.end(), is_fixed);
        const auto differs = [&](const Sibling& sibling) {
            const auto& element = draft_.elements[sibling.element];
            // What is left beside a device's default is not known: equal parts of that are what it takes.
            const double otherwise = has_fixed ? siblings.front().wanted : element.guaranteed;
            return element.rate.share && std::abs(sibling.wanted - otherwise) > kRounding + kNoise * capacity;
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
            if (!element.rate.min_rate || usable_[index] <= 0) {
                continue;    // nobody is there to miss it
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
        } else if (usable_[index] < in_kbps(*element.rate.min_rate)) {
            why = fmt::format("what is below it can send {} at most",
                              to_string(Bandwidth::from_computed(usable_[index])));
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

    // Small deviations on several levels can add up. One finding says it of everything below its element.
    void report_shortfalls()
    {
        std::set<ElementPath> reported;
        for (const auto& finding : findings_) {
            if (finding.kind == FindingKind::ShareError || finding.kind == FindingKind::MinRateMissed ||
                finding.kind == FindingKind::NotSupported) {
                reported.insert(finding.path);
            }
        }
        const auto is_reported = [&](Index index) {
            for (; index != kNone; index = draft_.elements[index].parent) {
                if (reported.contains(draft_.elements[index].path)) {
                    return true;
                }
            }
            return false;
        };
        for (Index index = 1; index < draft_.elements.size(); ++index) {
            const auto& element = draft_.elements[index];
            const double least = (1 - kToleratedError) * element.ideal;
            if (!element.folded && element.guaranteed + kRounding < least && !is_reported(index)) {
                findings_.push_back(shortfall_of(index));
                reported.insert(findings_.back().path);
            }
        }
    }

    [[nodiscard]] Finding shortfall_of(Index index) const
    {
        const auto& element = draft_.elements[index];
        return {FindingKind::ShareError,
                false,
                draft_.elements[class_of(index)].path,
                fmt::format("{} when all are busy{}", to_string(Bandwidth::from_computed(element.ideal)),
                            element.from_policy ? "" : " for each principal"),
                to_string(Bandwidth::from_computed(element.guaranteed)),
                fmt::format(
                    "shares are whole numbers from 1 to {} on this device, and what is lost by that above it adds up",
                    capabilities_.max_share)};
    }

    Draft& draft_;
    const Capabilities& capabilities_;
    std::vector<Finding>& findings_;
    bool link_known_;
    Bandwidth link_;
    bool has_shares_;
    // What each can use, in kbit/s; the second not of a folded one.
    std::vector<double> usable_;
    std::vector<double> usable_on_device_;
    std::vector<double> owed_;    // kbit/s, by the policy
};

}    // namespace

void assign_rates(Draft& draft, const CompileInput& input, std::vector<Finding>& findings)
{
    Rates(draft, input, findings).run();
}

}    // namespace rdmaqos::compiling
