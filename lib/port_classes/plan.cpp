#include "lib/port_classes/plan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "lib/dcb/port.h"
#include "lib/port_classes/findings.h"
#include "lib/port_classes/groups.h"
#include "lib/port_classes/priorities.h"
#include "lib/port_classes/weights.h"
#include "lib/port_classes/words.h"
#include "lib/tree/fair_parts.h"

namespace rdmaqos::port_classes {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr std::uint8_t kWhole = 100;
constexpr double kLeastLeft = 0.01;                     // of the link, by strict classes
constexpr double kMostOfLeft = 0.5;                     // of that, for everything else
constexpr double kOfNotifications = 0.01;               // of the link
constexpr std::size_t kOthers = 0;                      // the class of everything else
constexpr std::uint8_t kPriorityOfNotifications = 6;    // if nobody else has it

double in_kbps(Bandwidth rate)
{
    return static_cast<double>(rate.kbps());
}

std::string percent(double part)
{
    return fmt::format("{:.2f} % of the link", part * 100);
}

std::string obstacle_of_dcbx(const dcb::PortSettings& before, const Rules& rules)
{
    if (!before.dcbx) {
        return {};
    }
    switch (rules.host_dcbx) {
    case dcb::HostDcbx::Always:
    case dcb::HostDcbx::Advised:
        return {};
    case dcb::HostDcbx::Settable:
        return before.dcbx->firmware ? "an agent in the firmware of the NIC negotiates with the switch (DCBX)" : "";
    case dcb::HostDcbx::AgentOff:
        return before.dcbx->host && !before.dcbx->firmware
                   ? ""
                   : "an agent in the firmware of the NIC negotiates with the switch (DCBX); turn it off first";
    case dcb::HostDcbx::Operational:
        return before.dcbx->ieee && !before.dcbx->host
                   ? ""
                   : "the driver takes settings only while DCBX is operational, in IEEE mode";
    }
    return {};
}

// Why nothing can be set; empty: something can.
std::string obstacle(const dcb::PortSettings& before, const Rules& rules)
{
    if (!before.ets) {
        return "the port has no traffic classes that its driver could set";
    }
    if (rules.driver.empty()) {
        return "the driver of the port is not known";
    }
    if (!rules.sets_ets) {
        return fmt::format("the driver {} cannot set traffic classes", rules.driver);
    }
    if (!rules.sets_dscp) {
        return fmt::format("the driver {} cannot map a DSCP to a priority", rules.driver);
    }
    if (const std::string why = obstacle_of_dcbx(before, rules); !why.empty()) {
        return why;
    }
    if (before.ets->classes < 2) {
        return "the port has one traffic class";
    }
    return {};
}

class Planner {
public:
    Planner(const Requests& requests, const dcb::PortSettings& before, const Rules& rules, const Options& options)
        : requests_(requests), before_(before), rules_(rules), options_(options),
          link_(std::max(in_kbps(options.link_speed), 1.0))
    {
        plan_.wanted = before;
    }

    Plan plan()
    {
        if (const std::string why = obstacle(before_, rules_); !why.empty()) {
            report_all(why);
            return std::move(plan_);
        }
        // Before any other: where two have the same, neither is given away.
        find_groups();
        report_marks(requests_, groups_, before_.ets->classes, plan_.findings);
        if (groups_.empty()) {
            return std::move(plan_);
        }
        add_notifications();
        placed_ = place_groups(groups_, wishes_, before_, rules_);
        plan_.has_classes = true;
        describe_uses();
        write_classes();
        choose_weights();
        write_apps();
        report_strict();
        report_lossless();
        return std::move(plan_);
    }

private:
    void report_all(const std::string& why)
    {
        for (const ClassRequest& child : requests_.children) {
            plan_.findings.push_back({FindingKind::NotSupported, false, child.path, "a traffic class",
                                      "the port divides itself without regard to the policy", why});
        }
    }

    void find_groups()
    {
        groups_ = groups_of(requests_, before_.ets->classes - 1U);
        data_groups_ = groups_.size();
        wishes_.assign(groups_.size(), 0);
        is_cap_told_.assign(groups_.size(), false);
    }

    // The last group, without children.
    void add_notifications()
    {
        if (!options_.cnp_dscp) {
            return;
        }
        const auto dscp = *options_.cnp_dscp;
        for (const Group& group : groups_) {
            if (group.has(dscp)) {
                plan_.notes.push_back(
                    fmt::format("congestion notifications are in the class of {}, which has their DSCP, {}",
                                in_words(requests_, group.children), dscp));
                return;
            }
        }
        if (groups_.size() + 1U >= before_.ets->classes) {
            plan_.notes.push_back(fmt::format(
                "congestion notifications have no class of their own, because the port has {} traffic classes and the "
                "policy needs all of them",
                before_.ets->classes));
            return;
        }
        groups_.push_back({{}, {dscp}, notifications_cap().has_value(), false});
        wishes_.push_back(kPriorityOfNotifications);
    }

    [[nodiscard]] ClassUse& use_of(std::size_t group) { return plan_.uses.at(placed_[group].traffic_class); }
    [[nodiscard]] dcb::TrafficClass& class_of(std::size_t group)
    {
        return plan_.wanted.ets->traffic_class.at(placed_[group].traffic_class);
    }

    void describe_uses()
    {
        plan_.uses[kOthers].is_others = true;
        std::vector<bool> has_class(requests_.children.size());
        for (std::size_t index = 0; index < groups_.size(); ++index) {
            ClassUse& use = use_of(index);
            use.is_notifications = groups_[index].children.empty();
            use.dscps = groups_[index].dscps;
            for (const std::size_t child : groups_[index].children) {
                has_class[child] = true;
                use.children.push_back(requests_.children[child].path);
                add_levels(requests_.children[child], use);
            }
        }
        for (std::size_t child = 0; child < has_class.size(); ++child) {
            if (!has_class[child]) {
                plan_.uses[kOthers].children.push_back(requests_.children[child].path);
                add_levels(requests_.children[child], plan_.uses[kOthers]);
            }
        }
    }

    void add_levels(const ClassRequest& child, ClassUse& use)
    {
        for (const LevelMark& mark : child.levels) {
            const bool is_marked = mark.dscp && *mark.dscp != 0;
            (is_marked ? use : plan_.uses[kOthers]).levels.push_back(mark.level);
        }
    }

    void write_classes()
    {
        dcb::Ets& ets = *plan_.wanted.ets;
        const auto others_cap = before_.ets->traffic_class.at(before_.ets->class_of_priority[0]).max_rate;
        for (std::size_t index = 0; index < ets.classes; ++index) {
            dcb::TrafficClass& each = ets.traffic_class.at(index);
            const bool is_spare = !plan_.uses.at(index).is_used();
            each.selection = is_spare ? dcb::Selection::Strict : dcb::Selection::Ets;
            each.weight = 0;
            if (rules_.max_rates && !is_spare) {
                each.max_rate = index == kOthers ? others_cap : std::nullopt;
            }
        }
        for (std::size_t priority = 0; priority < dcb::kPriorities; ++priority) {
            ets.class_of_priority.at(priority) = rules_.priority_is_class && priority < ets.classes
                                                     ? static_cast<std::uint8_t>(priority)
                                                     : 0;
        }
        for (std::size_t index = 0; index < groups_.size(); ++index) {
            for (const auto& [dscp, priority] : placed_[index].priority_of_dscp) {
                ets.class_of_priority.at(priority) = placed_[index].traffic_class;
            }
            if (groups_[index].is_strict) {
                class_of(index).selection = dcb::Selection::Strict;
            }
        }
        if (rules_.sets_dcbx() && before_.dcbx && !before_.dcbx->host) {
            plan_.wanted.dcbx = dcb::kHostDcbx;
        }
        plan_.wanted.has_max_rates = rules_.max_rates || before_.has_max_rates;
        for (std::size_t index = 0; index < groups_.size(); ++index) {
            if (index < data_groups_) {
                write_cap(index);
            } else if (groups_[index].is_strict) {
                class_of(index).max_rate = notifications_cap();
            }
        }
    }

    // ---- caps ----

    // Of all children of the group together; empty: one of them has none, or they have no effect.
    [[nodiscard]] std::optional<Bandwidth> cap_of(const Group& group) const
    {
        Bandwidth sum;
        for (const std::size_t child : group.children) {
            const auto& cap = requests_.children[child].max_rate;
            if (!cap) {
                return std::nullopt;
            }
            sum = sum + *cap;
        }
        return sum < options_.link_speed ? std::optional(sum) : std::nullopt;
    }

    // Of their class, if it can be strict; empty: it has a weight. Without a maximum rate, a flood of their DSCP would
    // have the link.
    [[nodiscard]] std::optional<Bandwidth> notifications_cap() const
    {
        return rules_.max_rates ? rounded_down(*rules_.max_rates, Bandwidth::from_computed(kOfNotifications * link_))
                                : std::nullopt;
    }

    void report_cap(const ClassRequest& child, std::string achievable, std::string why)
    {
        plan_.findings.push_back({FindingKind::CapLost, false, child.path,
                                  "max-rate " + to_string(*child.max_rate) + " for all processes together",
                                  std::move(achievable), std::move(why)});
    }

    void write_cap(std::size_t index)
    {
        const Group& group = groups_[index];
        const auto cap = cap_of(group);
        const ClassRequest& only = requests_.children[group.children.front()];
        if (!rules_.max_rates) {
            for (const std::size_t child : group.children) {
                if (has_effect(requests_.children[child])) {
                    report_cap(requests_.children[child],
                               "what the scheduling tree can hold, as without traffic classes",
                               fmt::format("the driver {} has no maximum rates of traffic classes", rules_.driver));
                }
            }
            return;
        }
        if (cap) {
            const Bandwidth lowest = rules_.max_rates->front().step;
            const auto rounded = rounded_down(*rules_.max_rates, *cap);
            class_of(index).max_rate = rounded.value_or(lowest);
            if (group.children.size() == 1 && !rounded) {
                is_cap_told_[index] = true;
                report_cap(only, to_string(lowest),
                           fmt::format("the lowest maximum rate of a traffic class is {}", to_string(lowest)));
            } else if (group.children.size() == 1) {
                is_cap_told_[index] = report_rounding(only, *cap, *rounded);
            }
        }
        if (group.children.size() > 1) {
            is_cap_told_[index] = true;
            for (const std::size_t child : group.children) {
                if (has_effect(requests_.children[child])) {
                    report_cap(requests_.children[child],
                               cap ? fmt::format("{} together with {}", to_string(*class_of(index).max_rate),
                                                 in_words(requests_, group.children, child))
                                   : "what the scheduling tree can hold, as without traffic classes",
                               fmt::format("it shares traffic class {} with {}", placed_[index].traffic_class,
                                           in_words(requests_, group.children, child)));
                }
            }
        }
    }

    [[nodiscard]] bool has_effect(const ClassRequest& child) const
    {
        return child.max_rate && *child.max_rate < options_.link_speed;
    }

    // Whether it is a finding.
    bool report_rounding(const ClassRequest& child, Bandwidth cap, Bandwidth rounded)
    {
        if (rounded == cap) {
            return false;
        }
        const std::string why = rounded == rules_.max_rates->back().up_to
                                    ? "the largest maximum rate of a traffic class"
                                    : "maximum rates of traffic classes have steps, and are rounded down";
        if (in_kbps(rounded) < (1 - kTolerated) * in_kbps(cap)) {
            plan_.findings.push_back(
                {FindingKind::TrafficClass, false, child.path, "max-rate " + to_string(cap), to_string(rounded), why});
            return true;
        }
        plan_.notes.push_back(fmt::format("{}: its max-rate, {}, becomes {}: {}", child.path.text(), to_string(cap),
                                          to_string(rounded), why));
        return false;
    }

    // ---- weights ----

    // What the strict classes leave when all are busy; below 0: their caps are more than the link. Those without a cap
    // are reported, and counted as idle.
    [[nodiscard]] double left_by_strict() const
    {
        double left = link_;
        for (const Group& group : groups_) {
            const auto cap = !group.is_strict         ? std::nullopt
                             : group.children.empty() ? notifications_cap()
                                                      : cap_of(group);
            left -= cap ? in_kbps(*cap) : 0;
        }
        return left;
    }

    // What each child of the root should have, in parts of `whole`; the rest is everything else's.
    [[nodiscard]] std::vector<double> fair_parts(double whole) const
    {
        std::vector<FairClaim> claims(requests_.children.size());
        double guaranteed = 0;
        for (std::size_t child = 0; child < claims.size(); ++child) {
            const ClassRequest& request = requests_.children[child];
            claims[child].most = request.max_rate ? in_kbps(*request.max_rate) : kUnlimited;
            claims[child].guarantee = request.min_rate ? request.min_rate->kbps() : 0;
            claims[child].share = std::max(request.share, 1U);
            if (is_strict(child)) {
                claims[child].most = 0;
            }
            guaranteed += std::min(static_cast<double>(claims[child].guarantee), claims[child].most);
        }
        const double most = std::min(link_ * std::max<std::uint8_t>(options_.others_percent, 1) / kWhole,
                                     kMostOfLeft * whole);
        const double least = whole / kWhole;
        const double others = std::max(std::min(most, whole - guaranteed), least);
        auto parts = divide_fairly(whole - others, claims);
        for (double& part : parts) {
            part /= whole;
        }
        return parts;
    }

    [[nodiscard]] bool is_strict(std::size_t child) const
    {
        return std::ranges::any_of(groups_, [child](const Group& group) {
            return group.is_strict && std::ranges::find(group.children, child) != group.children.end();
        });
    }

    void choose_weights()
    {
        // Weights are for the times when strict classes send less, too.
        const double whole = std::max(left_by_strict(), kLeastLeft * link_);
        const auto parts = fair_parts(whole);
        std::vector<WeightWish> wishes(1);    // the first is everything else
        std::vector<std::size_t> whose(1);    // the others are groups
        wishes[0].wanted = 1;
        for (std::size_t index = 0; index < groups_.size(); ++index) {
            if (groups_[index].is_strict) {
                continue;
            }
            WeightWish wish;
            for (const std::size_t child : groups_[index].children) {
                const ClassRequest& request = requests_.children[child];
                wish.wanted += parts[child];
                wish.at_least += request.min_rate ? in_kbps(*request.min_rate) / whole : 0;
            }
            if (groups_[index].children.empty()) {
                wish.wanted = kOfNotifications;
            }
            if (const auto cap = class_of(index).max_rate) {
                wish.most = in_kbps(*cap) / whole;
            }
            wishes[0].wanted -= wish.wanted;
            wishes.push_back(wish);
            whose.push_back(index);
        }
        wishes[0].wanted = std::max(wishes[0].wanted, 0.0);
        if (const auto cap = plan_.wanted.ets->traffic_class[kOthers].max_rate) {
            wishes[0].most = in_kbps(*cap) / whole;
        }
        const auto percents = choose_percents(wishes, kWhole);
        const auto reached = reached_with(wishes, percents);
        for (std::size_t i = 0; i < wishes.size(); ++i) {
            const bool is_others = i == 0;
            ClassUse& use = is_others ? plan_.uses[kOthers] : use_of(whose[i]);
            (is_others ? plan_.wanted.ets->traffic_class[kOthers] : class_of(whose[i])).weight = percents[i];
            use.wanted = wishes[i].wanted * whole / link_ * kWhole;
            use.reached = reached[i] * whole / link_ * kWhole;
            if (!is_others && !groups_[whose[i]].children.empty()) {
                report_weight(whose[i], wishes[i], reached[i], whole);
            }
        }
    }

    void report_weight(std::size_t index, const WeightWish& wish, double reached, double whole)
    {
        constexpr double kRounding = 1;    // kbit/s
        const Group& group = groups_[index];
        const auto others_cap = plan_.wanted.ets->traffic_class[kOthers].max_rate;
        const std::string why = "weights of traffic classes are whole percents, 1 at least, and everything outside the "
                                "policy has 1 at least" +
                                (others_cap ? "; that is capped at " + to_string(*others_cap) + ", as before" : "");
        const ClassRequest& only = requests_.children[group.children.front()];
        const double left = std::max(left_by_strict(), 0.0);
        const double rate = reached * std::min(left, whole);
        if (group.children.size() == 1 && only.min_rate && rate + kRounding < in_kbps(*only.min_rate)) {
            const double with_all_weights = std::min(left, whole) * (kWhole - 1) / kWhole;
            const bool is_taken_by_strict = whole < link_ && in_kbps(*only.min_rate) > with_all_weights;
            plan_.findings.push_back(
                {FindingKind::MinRateMissed, false, only.path, "min-rate " + to_string(*only.min_rate),
                 to_string(Bandwidth::from_mbps(Bandwidth::from_computed(rate).mbps())) +
                     " in its traffic class, whatever the tree gives it",
                 is_taken_by_strict
                     ? fmt::format("classes that are `strict` can take {} of {}",
                                   to_string(Bandwidth::from_computed(link_ - left)), to_string(options_.link_speed))
                     : why,
                 Gap::between(Bandwidth::from_computed(rate), *only.min_rate)});
            return;
        }
        // A finding about its cap may explain the difference already.
        const double off = std::abs(reached - (is_cap_told_[index] ? std::min(wish.wanted, wish.most) : wish.wanted));
        if (off > kTolerated * wish.wanted) {
            constexpr double kNothing = 0.00005;    // of the link: 0.00 %
            const bool gets_nothing = wish.wanted * whole / link_ < kNothing;
            for (const std::size_t child : group.children) {
                plan_.findings.push_back(
                    {FindingKind::ShareError, false, requests_.children[child].path,
                     (gets_nothing ? "nothing" : percent(wish.wanted * whole / link_)) + " when all are busy" +
                         (group.children.size() > 1 ? " together with " + in_words(requests_, group.children, child)
                                                    : std::string()),
                     fmt::format("{:.2f} %", reached * whole / link_ * 100),
                     gets_nothing ? "others are promised all of the link, but a class has a weight of 1 at least"
                                  : why});
            }
        }
    }

    // ---- the application table ----

    void write_apps()
    {
        std::array<std::optional<std::uint8_t>, 64> ours;
        std::array<bool, dcb::kPriorities> is_taken{};
        for (const PlacedGroup& placed : placed_) {
            for (const auto& [dscp, priority] : placed.priority_of_dscp) {
                ours.at(dscp) = priority;
                is_taken.at(priority) = true;
            }
        }
        std::vector<dcb::AppEntry> apps;
        std::array<bool, 64> has_entry{};
        std::map<std::uint8_t, std::vector<std::uint8_t>> moved;    // by the priority that they had
        for (dcb::AppEntry entry : before_.apps) {
            if (entry.selector != dcb::Selector::Dscp || entry.protocol >= 64) {
                note_other_selector(entry, is_taken);
                apps.push_back(entry);
                continue;
            }
            if (ours.at(entry.protocol)) {
                continue;
            }
            const bool has_to_go = is_taken.at(entry.priority) || (rules_.priority_is_class && entry.priority != 0);
            if (has_to_go) {
                moved[entry.priority].push_back(static_cast<std::uint8_t>(entry.protocol));
                entry.priority = 0;
            }
            has_entry.at(entry.protocol) = true;
            apps.push_back(entry);
        }
        for (std::uint8_t dscp = 0; dscp < 64; ++dscp) {
            if (ours.at(dscp)) {
                apps.push_back({dcb::Selector::Dscp, dscp, *ours.at(dscp)});
            } else if (rules_.unlisted_unknown && !has_entry.at(dscp)) {
                apps.push_back({dcb::Selector::Dscp, dscp, 0});
            }
        }
        std::ranges::sort(apps);
        apps.erase(std::unique(apps.begin(), apps.end()), apps.end());
        plan_.wanted.apps = std::move(apps);
        note_moved(moved);
    }

    void note_other_selector(const dcb::AppEntry& entry, const std::array<bool, dcb::kPriorities>& is_taken)
    {
        if (is_taken.at(entry.priority)) {
            plan_.notes.push_back(fmt::format(
                "the application table maps {} to priority {}, so these packets are in traffic class {}, too",
                in_words(entry.selector, entry.protocol), entry.priority,
                plan_.wanted.ets->class_of_priority.at(entry.priority)));
        }
    }

    void note_moved(const std::map<std::uint8_t, std::vector<std::uint8_t>>& moved)
    {
        for (const auto& [priority, dscps] : moved) {
            const bool was_lossless = before_.pfc && before_.pfc->lossless.at(priority);
            plan_.notes.push_back(fmt::format(
                "DSCP {}, which no level has: priority 0 in place of {}, which a class of the policy needs{}",
                ranges_in_words(dscps), priority, was_lossless ? "; it was lossless, and then is not" : ""));
        }
    }

    // ---- what else ----

    void report_strict()
    {
        for (std::size_t index = 0; index < requests_.children.size(); ++index) {
            const ClassRequest& child = requests_.children[index];
            if (!child.strict) {
                continue;
            }
            const auto refuse = [&](std::string why) {
                plan_.findings.push_back({FindingKind::NotSupported, false, child.path, "`strict`",
                                          "it has its share in place of that", std::move(why)});
            };
            const auto group = std::ranges::find_if(groups_, [&](const Group& each) {
                return std::ranges::find(each.children, index) != each.children.end();
            });
            if (group == groups_.end()) {
                refuse("it has no traffic class");
            } else if (!group->is_strict) {
                refuse(fmt::format("it shares its traffic class with {}, not all of which are strict",
                                   in_words(requests_, group->children, index)));
            } else if (!cap_of(*group) || !rules_.max_rates) {
                plan_.findings.push_back(
                    {FindingKind::TrafficClass, false, child.path, "`strict`",
                     "all of the link, whatever others are guaranteed",
                     child.max_rate ? "its traffic class has no maximum rate" : "it has no `max-rate`"});
            } else if (left_by_strict() < kLeastLeft * link_) {
                plan_.findings.push_back(
                    {FindingKind::TrafficClass, false, child.path, "`strict`",
                     "all of the link together with the others that are strict, of which those in classes with higher "
                     "numbers go first",
                     fmt::format("their max-rates sum to {}, of a link of {}",
                                 to_string(Bandwidth::from_computed(link_ - left_by_strict())),
                                 to_string(options_.link_speed))});
            }
        }
    }

    void report_lossless()
    {
        for (std::size_t index = 0; index < data_groups_; ++index) {
            const PlacedGroup& placed = placed_[index];
            const std::string paths = in_words(requests_, groups_[index].children);
            if (!placed.no_longer_lossless.empty()) {
                for (const std::size_t child : groups_[index].children) {
                    plan_.findings.push_back(
                        {FindingKind::TrafficClass, false, requests_.children[child].path,
                         fmt::format("DSCP {} lossless, as before", ranges_in_words(placed.no_longer_lossless)),
                         fmt::format("priority {}, which has no PFC",
                                     placed.priority_of_dscp.at(placed.no_longer_lossless.front())),
                         "another class keeps the lossless priority; set PFC for this one, also on the switch"});
                }
            }
            if (!placed.now_lossless.empty()) {
                plan_.notes.push_back(fmt::format("DSCP {} of {} gets priority {}, which is lossless",
                                                  ranges_in_words(placed.now_lossless), paths,
                                                  placed.priority_of_dscp.at(placed.now_lossless.front())));
            }
        }
    }

    const Requests& requests_;
    const dcb::PortSettings& before_;
    const Rules& rules_;
    const Options& options_;
    double link_;
    Plan plan_;
    std::vector<Group> groups_;    // of children, and perhaps the one of notifications behind them
    std::size_t data_groups_ = 0;
    std::vector<std::uint8_t> wishes_;
    std::vector<PlacedGroup> placed_;
    std::vector<bool> is_cap_told_;    // of a group: by a finding
};

}    // namespace

Plan plan(const Requests& requests, const dcb::PortSettings& before, const Rules& rules, const Options& options)
{
    if (options.division == Division::ByTree) {
        return left_to_the_tree(requests, before, options);
    }
    return Planner(requests, before, rules, options).plan();
}

std::vector<std::string> notes_of_change(const dcb::PortSettings& present, const dcb::PortSettings& wanted)
{
    std::vector<std::string> notes;
    if (wanted.dcbx && wanted.dcbx->host && present.dcbx && !present.dcbx->host) {
        notes.emplace_back("DCBX goes to host mode, so the settings of the switch no longer apply");
    }
    if (dcb::trusts_dscp(wanted) && !dcb::trusts_dscp(present)) {
        notes.emplace_back(
            "from then on the port takes the priority of a packet from its DSCP, and no longer from its VLAN tag");
    }
    return notes;
}

}    // namespace rdmaqos::port_classes
