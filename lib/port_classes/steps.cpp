#include "lib/port_classes/steps.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lib/base/overloaded.h"
#include "lib/port_classes/words.h"

namespace rdmaqos::port_classes {
namespace {

using dcb::AppEntry;
using dcb::PortSettings;
using Priorities = std::vector<std::uint8_t>;

bool divide_alike(const dcb::Ets& a, const dcb::Ets& b)
{
    for (std::size_t index = 0; index < b.classes && index < dcb::kTrafficClasses; ++index) {
        const dcb::TrafficClass& one = a.traffic_class.at(index);
        const dcb::TrafficClass& other = b.traffic_class.at(index);
        // Drivers report any weight of a class that does not divide by it.
        if (one.selection != other.selection || (one.selection == dcb::Selection::Ets && one.weight != other.weight)) {
            return false;
        }
    }
    return a.class_of_priority == b.class_of_priority;
}

bool are_capped_alike(const dcb::Ets& a, const dcb::Ets& b)
{
    for (std::size_t index = 0; index < b.classes && index < dcb::kTrafficClasses; ++index) {
        if (a.traffic_class.at(index).max_rate != b.traffic_class.at(index).max_rate) {
            return false;
        }
    }
    return true;
}

// Ascending.
Priorities priorities_of(const PortSettings& settings, std::uint16_t dscp)
{
    Priorities priorities;
    for (const AppEntry& entry : settings.apps) {
        if (entry.selector == dcb::Selector::Dscp && entry.protocol == dscp) {
            priorities.push_back(entry.priority);
        }
    }
    std::ranges::sort(priorities);
    return priorities;
}

bool has(const Priorities& priorities, std::uint8_t priority)
{
    return std::ranges::find(priorities, priority) != priorities.end();
}

dcb::Disruption worse(dcb::Disruption a, dcb::Disruption b)
{
    return std::max(a, b);
}

dcb::Disruption disruption_of(const PortSettings& now, const PortSettings& then, const dcb::Write& write,
                              const dcb::Disruptions& disrupts)
{
    const auto of_app = [&] {
        return dcb::trusts_dscp(now) != dcb::trusts_dscp(then) ? worse(disrupts.first_app, disrupts.apps)
                                                               : disrupts.apps;
    };
    return std::visit(Overloaded{
                          [&](const dcb::SetEts& set) {
                              const bool moves = !now.ets || now.ets->class_of_priority != set.ets.class_of_priority;
                              return moves ? worse(disrupts.weights, disrupts.priorities) : disrupts.weights;
                          },
                          [&](const dcb::SetMaxRates&) { return disrupts.max_rates; },
                          [&](const dcb::SetApp&) { return of_app(); },
                          [&](const dcb::DeleteApp&) { return of_app(); },
                          [&](const dcb::SetDcbx&) { return dcb::Disruption::None; },
                      },
                      write);
}

std::string words_of_ets(const PortSettings& now, const dcb::Ets& ets)
{
    std::string text = "divides the port:";
    for (std::uint8_t index = 0; index < ets.classes && index < dcb::kTrafficClasses; ++index) {
        const dcb::TrafficClass& each = ets.traffic_class.at(index);
        if (std::ranges::find(ets.class_of_priority, index) == ets.class_of_priority.end()) {
            continue;
        }
        text += text.back() == ':' ? "" : ",";
        switch (each.selection) {
        case dcb::Selection::Strict:
            text += fmt::format(" class {} strict", index);
            break;
        case dcb::Selection::Ets:
            text += fmt::format(" class {} {} %", index, each.weight);
            break;
        case dcb::Selection::CreditBasedShaper:
        case dcb::Selection::Vendor:
            text += fmt::format(" class {} as the vendor has it", index);
            break;
        }
    }
    std::string moved;
    for (std::size_t priority = 0; priority < dcb::kPriorities; ++priority) {
        if (!now.ets || now.ets->class_of_priority.at(priority) != ets.class_of_priority.at(priority)) {
            moved += fmt::format("{} priority {} in class {}", moved.empty() ? ";" : ",", priority,
                                 ets.class_of_priority.at(priority));
        }
    }
    return text + moved;
}

std::string words_of_rates(const PortSettings& now, const dcb::MaxRates& rates)
{
    std::string text;
    for (std::size_t index = 0; index < dcb::kTrafficClasses; ++index) {
        if (now.ets && now.ets->traffic_class.at(index).max_rate == rates.at(index)) {
            continue;
        }
        text += text.empty() ? "" : ", ";
        text += rates.at(index) ? fmt::format("caps class {} at {}", index, to_string(*rates.at(index)))
                                : fmt::format("removes the cap of class {}", index);
    }
    return text;
}

std::string words_of_entries(bool is_set, const std::string& which, std::uint8_t priority)
{
    return is_set ? fmt::format("maps {} to priority {}", which, priority)
                  : fmt::format("removes the mapping of {} to priority {}", which, priority);
}

std::string words_of(const PortSettings& now, const dcb::Write& write)
{
    return std::visit(
        Overloaded{
            [&](const dcb::SetEts& set) { return words_of_ets(now, set.ets); },
            [&](const dcb::SetMaxRates& set) { return words_of_rates(now, set.rates); },
            [](const dcb::SetApp& set) {
                return words_of_entries(true, in_words(set.entry.selector, set.entry.protocol), set.entry.priority);
            },
            [](const dcb::DeleteApp& set) {
                return words_of_entries(false, in_words(set.entry.selector, set.entry.protocol), set.entry.priority);
            },
            [](const dcb::SetDcbx& set) -> std::string {
                return set.dcbx.host ? "turns off DCBX of the NIC, so that settings of the host apply"
                                     : "lets the NIC negotiate with the switch (DCBX) again";
            },
        },
        write);
}

class Builder {
public:
    Builder(const PortSettings& present, const PortSettings& wanted, const Rules& rules, bool rewrites_ets)
        : state_(present), wanted_(wanted), rules_(rules), rewrites_ets_(rewrites_ets)
    {
    }

    std::vector<Step> build()
    {
        compare_apps();
        const bool flips = dcb::trusts_dscp(state_) != dcb::trusts_dscp(wanted_);
        if (rules_.first_app_resets_ets && flips && dcb::trusts_dscp(wanted_)) {
            push(sets_.front());
            divide();
            push_all({sets_.begin() + 1, sets_.end()});
            push_all(deletes_);
        } else if (rules_.first_app_resets_ets && flips) {
            push_all(sets_);
            push_all(deletes_);
            divide();
        } else {
            divide();
            push_all(sets_);
            push_all(deletes_);
        }
        const bool chooses_dcbx = rules_.sets_dcbx() && state_.dcbx && wanted_.dcbx;
        if (chooses_dcbx && state_.dcbx->host != wanted_.dcbx->host) {
            add(dcb::SetDcbx{*wanted_.dcbx});
        }
        return std::move(steps_);
    }

private:
    void compare_apps()
    {
        for (std::uint16_t dscp = 0; dscp < 64; ++dscp) {
            const auto entry = [dscp](std::uint8_t priority) { return AppEntry{dcb::Selector::Dscp, dscp, priority}; };
            const Priorities present = priorities_of(state_, dscp);
            Priorities wanted = priorities_of(wanted_, dscp);
            if (rules_.replaces_dscp && wanted.size() > 1) {
                wanted = {wanted.back()};    // the driver cannot have the others
            }
            if (present == wanted) {
                continue;
            }
            if (wanted.empty()) {
                for (const std::uint8_t priority : present) {
                    deletes_.emplace_back(dcb::DeleteApp{entry(priority)});
                }
                continue;
            }
            const bool is_set = std::ranges::any_of(wanted, [&](auto each) { return !has(present, each); });
            for (const std::uint8_t priority : present) {
                if (!has(wanted, priority) && !(rules_.replaces_dscp && is_set)) {
                    sets_.emplace_back(dcb::DeleteApp{entry(priority)});
                }
            }
            for (const std::uint8_t priority : wanted) {
                if (!has(present, priority)) {
                    sets_.emplace_back(dcb::SetApp{entry(priority)});
                }
            }
        }
        // The first one may reset what is divided, so a deletion cannot be it.
        const auto is_set = [](const dcb::Write& write) { return std::holds_alternative<dcb::SetApp>(write); };
        if (rules_.first_app_resets_ets && !dcb::trusts_dscp(state_)) {
            std::ranges::stable_partition(sets_, is_set);
        }
    }

    void divide()
    {
        if (!wanted_.ets || !state_.ets) {
            return;
        }
        if (rewrites_ets_ || !divide_alike(*state_.ets, *wanted_.ets)) {
            push(dcb::SetEts{*wanted_.ets});
        }
        if (rules_.max_rates && !are_capped_alike(*state_.ets, *wanted_.ets)) {
            dcb::MaxRates rates;
            for (std::size_t index = 0; index < dcb::kTrafficClasses; ++index) {
                rates.at(index) = wanted_.ets->traffic_class.at(index).max_rate;
            }
            push(dcb::SetMaxRates{rates});
        }
    }

    void push_all(const std::vector<dcb::Write>& writes)
    {
        for (const dcb::Write& write : writes) {
            push(write);
        }
    }

    // What the NIC takes in host mode only.
    void push(const dcb::Write& write)
    {
        if (rules_.sets_dcbx() && state_.dcbx && !state_.dcbx->host) {
            add(dcb::SetDcbx{dcb::kHostDcbx});
        }
        add(write);
    }

    void add(const dcb::Write& write)
    {
        PortSettings then = after(state_, write, rules_);
        steps_.push_back({write, words_of(state_, write),
                          std::string(dcb::in_words(disruption_of(state_, then, write, rules_.disrupts)))});
        state_ = std::move(then);
    }

    PortSettings state_;
    const PortSettings& wanted_;
    const Rules& rules_;
    const bool rewrites_ets_;
    std::vector<dcb::Write> sets_;
    std::vector<dcb::Write> deletes_;
    std::vector<Step> steps_;
};

void reset(dcb::Ets& ets)
{
    for (std::size_t index = 0; index < dcb::kTrafficClasses; ++index) {
        ets.traffic_class.at(index).selection = dcb::Selection::Ets;
        ets.traffic_class.at(index).weight = index == 0 ? 100 : 0;
    }
}

}    // namespace

std::vector<Step> difference(const PortSettings& present, const PortSettings& wanted, const Rules& rules)
{
    return Builder(present, wanted, rules, false).build();
}

std::vector<Step> difference_and_ets(const PortSettings& present, const PortSettings& wanted, const Rules& rules)
{
    return Builder(present, wanted, rules, true).build();
}

PortSettings after(PortSettings present, const dcb::Write& write, const Rules& rules)
{
    const bool trusted = dcb::trusts_dscp(present);
    std::visit(Overloaded{
                   [&](const dcb::SetEts& set) {
                       dcb::Ets ets = set.ets;
                       for (std::size_t index = 0; index < dcb::kTrafficClasses && present.ets; ++index) {
                           ets.traffic_class.at(index).max_rate = present.ets->traffic_class.at(index).max_rate;
                       }
                       ets.classes = present.ets ? present.ets->classes : ets.classes;
                       present.ets = ets;
                   },
                   [&](const dcb::SetMaxRates& set) {
                       for (std::size_t index = 0; index < dcb::kTrafficClasses && present.ets; ++index) {
                           present.ets->traffic_class.at(index).max_rate = set.rates.at(index);
                       }
                       present.has_max_rates = true;
                   },
                   [&](const dcb::SetApp& set) {
                       std::erase_if(present.apps, [&](const AppEntry& entry) {
                           const bool is_same = entry.selector == set.entry.selector &&
                                                entry.protocol == set.entry.protocol;
                           return entry == set.entry || (is_same && rules.replaces_dscp);
                       });
                       present.apps.push_back(set.entry);
                       std::ranges::sort(present.apps);
                   },
                   [&](const dcb::DeleteApp& set) { std::erase(present.apps, set.entry); },
                   [&](const dcb::SetDcbx& set) { present.dcbx = set.dcbx; },
               },
               write);
    if (rules.first_app_resets_ets && trusted != dcb::trusts_dscp(present) && present.ets) {
        reset(*present.ets);
    }
    return present;
}

namespace {

// The entry of a DSCP that a step sets or deletes; null: it does something else.
const AppEntry* dscp_entry(const Step& step)
{
    const auto* set = std::get_if<dcb::SetApp>(&step.write);
    const auto* removed = std::get_if<dcb::DeleteApp>(&step.write);
    const AppEntry* entry = set != nullptr ? &set->entry : removed != nullptr ? &removed->entry : nullptr;
    return entry != nullptr && entry->selector == dcb::Selector::Dscp ? entry : nullptr;
}

bool are_alike(const Step& a, const Step& b)
{
    const AppEntry* one = dscp_entry(a);
    const AppEntry* other = dscp_entry(b);
    return one != nullptr && other != nullptr && a.write.index() == b.write.index() &&
           one->priority == other->priority && a.disruption == b.disruption;
}

std::string text_of(const std::vector<StepLine>& lines)
{
    std::string text;
    for (const StepLine& line : lines) {
        text += (text.empty() ? "" : "; ") + line.words;
    }
    return text;
}

}    // namespace

std::vector<StepLine> step_lines(const std::vector<Step>& steps)
{
    std::vector<StepLine> lines;
    for (std::size_t first = 0; first < steps.size();) {
        std::vector<std::uint8_t> dscps;
        std::size_t end = first;
        for (; end < steps.size() && are_alike(steps[first], steps[end]); ++end) {
            dscps.push_back(static_cast<std::uint8_t>(dscp_entry(steps[end])->protocol));
        }
        std::ranges::sort(dscps);
        lines.push_back({dscps.size() < 2
                             ? steps[first].words
                             : words_of_entries(std::holds_alternative<dcb::SetApp>(steps[first].write),
                                                "DSCP " + ranges_in_words(dscps), dscp_entry(steps[first])->priority),
                         steps[first].disruption});
        first = std::max(end, first + 1);
    }
    return lines;
}

std::vector<Difference> differences_in_words(const dcb::PortSettings& present, const dcb::PortSettings& wanted,
                                             const Rules& rules)
{
    // Entries that are set and those that are deleted are of one kind.
    const auto kind_of = [](const Step& step) {
        return std::holds_alternative<dcb::DeleteApp>(step.write) ? dcb::Write(dcb::SetApp{}).index()
                                                                  : step.write.index();
    };
    const auto to_wanted = difference(present, wanted, rules);
    const auto to_present = difference(wanted, present, rules);
    std::vector<Difference> differences;
    for (std::size_t kind = 0; kind < std::variant_size_v<dcb::Write>; ++kind) {
        const auto of_kind = [&](const std::vector<Step>& steps) {
            std::vector<Step> some;
            std::ranges::copy_if(steps, std::back_inserter(some),
                                 [&](const Step& step) { return kind_of(step) == kind; });
            return text_of(step_lines(some));
        };
        if (std::string expected = of_kind(to_wanted); !expected.empty()) {
            const std::string found = of_kind(to_present);
            differences.push_back({std::move(expected), found.empty() ? "not so" : found});
        }
    }
    return differences;
}

}    // namespace rdmaqos::port_classes
