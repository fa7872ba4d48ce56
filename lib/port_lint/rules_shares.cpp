// What the traffic classes of a port get, compared with what the policy gives the levels that are in them.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "lib/port_lint/rules.h"

namespace rdmaqos::port_lint {
namespace {

struct InClass {
    std::vector<const Level*> levels;
    std::vector<const RootChild*> children;    // of which a level is here
};

const RootChild* child_of(const Interface& port, const Level& level)
{
    const auto found = std::ranges::find(port.root_children, level.root_child, &RootChild::name);
    return found == port.root_children.end() ? nullptr : &*found;
}

// By traffic class. Levels without a class of the tree share nothing and are not here.
std::map<std::uint8_t, InClass> by_class(const Interface& port)
{
    std::map<std::uint8_t, InClass> classes;
    for (const Level& level : port.levels) {
        const RootChild* child = child_of(port, level);
        if (child == nullptr) {
            continue;
        }
        InClass& there = classes[class_of_priority(port, priority_of(port, level))];
        there.levels.push_back(&level);
        if (std::ranges::find(there.children, child) == there.children.end()) {
            there.children.push_back(child);
        }
    }
    return classes;
}

// What is promised to those in a class together: of each child what it or its levels here are promised, if that is
// more.
Bandwidth promised(const InClass& there)
{
    Bandwidth all;
    for (const RootChild* child : there.children) {
        Bandwidth of_levels;
        for (const Level* level : there.levels) {
            if (level->root_child == child->name && level->min_rate) {
                of_levels = of_levels + *level->min_rate;
            }
        }
        all = all + std::max(of_levels, child->min_rate.value_or(Bandwidth{}));
    }
    return all;
}

Bandwidth part_of(Bandwidth whole, unsigned percent)
{
    return Bandwidth::from_kbps(whole.kbps() / 100 * percent);
}

// With ETS: the part that its weight gives it while all others send; a strict class goes first.
std::optional<Bandwidth> guaranteed(const dcb::Ets& ets, std::uint8_t traffic_class, Bandwidth link)
{
    const dcb::TrafficClass& of = ets.traffic_class[traffic_class];
    return of.selection == dcb::Selection::Ets ? std::optional(part_of(link, of.weight)) : std::nullopt;
}

std::string command_for_weight(const Interface& port, std::uint8_t traffic_class, Bandwidth rate)
{
    const std::uint64_t percent = (rate.kbps() * 100 + port.link_speed->kbps() - 1) / port.link_speed->kbps();
    return fmt::format("dcb ets set dev {} tc-bw {}:{}", port.name, traffic_class, percent);
}

}    // namespace

void check_min_rates(const Interface& port, Findings& findings)
{
    if (!port.settings.ets || !port.link_speed || port.link_speed->is_zero()) {
        return;
    }
    for (const auto& [traffic_class, there] : by_class(port)) {
        const Bandwidth wanted = promised(there);
        const auto given = guaranteed(*port.settings.ets, traffic_class, *port.link_speed);
        if (!given || *given >= wanted) {
            continue;
        }
        findings.push_back(
            {.traffic_class = traffic_class,
             .levels = names_of(there.levels),
             .what = fmt::format("ETS gives traffic class {} of {} {} % of {}, which is {}", traffic_class, port.name,
                                 port.settings.ets->traffic_class[traffic_class].weight, to_string(*port.link_speed),
                                 to_string(*given)),
             .why = fmt::format("{} {} promised {} (min-rate)", in_words(names_of(there.levels)),
                                there.levels.size() == 1 ? "is" : "are", to_string(wanted)),
             .command = command_for_weight(port, traffic_class, wanted),
             .caution = "the weights of all traffic classes must sum to 100: give others less"});
    }
}

void check_max_rates(const Interface& port, Findings& findings)
{
    if (!port.settings.ets || !port.settings.has_max_rates) {
        return;
    }
    for (const auto& [traffic_class, there] : by_class(port)) {
        const auto& limit = port.settings.ets->traffic_class[traffic_class].max_rate;
        if (!limit) {
            continue;
        }
        std::vector<std::string> held_down;
        Bandwidth most;
        const auto compare = [&](const std::string& name, const std::optional<Bandwidth>& rate) {
            if (rate && *rate > *limit && std::ranges::find(held_down, name) == held_down.end()) {
                held_down.push_back(name);
                most = std::max(most, *rate);
            }
        };
        for (const Level* level : there.levels) {
            compare(level->name, level->max_rate);
            compare(level->name, level->min_rate);
        }
        for (const RootChild* child : there.children) {
            compare(child->name, child->max_rate);
        }
        if (held_down.empty()) {
            continue;
        }
        findings.push_back({.traffic_class = traffic_class,
                            .levels = names_of(there.levels),
                            .what = fmt::format("traffic class {} of {} sends {} at most", traffic_class, port.name,
                                                to_string(*limit)),
                            .why = fmt::format("the policy lets {} send {}", listed(held_down), to_string(most)),
                            .command = fmt::format("dcb maxrate set dev {} tc-maxrate {}:{}kbit", port.name,
                                                   traffic_class, most.kbps())});
    }
}

void check_shared_class(const Interface& port, Findings& findings)
{
    if (!has_priorities(port) || port.is_divided_by_tree) {
        return;
    }
    for (const auto& [traffic_class, there] : by_class(port)) {
        const auto share = [](const RootChild* child) { return child->share.value_or(0); };
        const bool same = std::ranges::all_of(
            there.children, [&](const RootChild* child) { return share(child) == share(there.children.front()); });
        if (same) {
            continue;
        }
        std::vector<std::string> children;
        for (const RootChild* child : there.children) {
            children.push_back(fmt::format("{} (share {})", child->name, share(child)));
        }
        findings.push_back(
            {.traffic_class = traffic_class,
             .levels = names_of(there.levels),
             .what = fmt::format("{} are in traffic class {} of {} together", listed(children), traffic_class,
                                 port.name),
             .why = "the port does not tell them apart: where queue pairs attach per process, nothing divides the link "
                    "between processes by these shares",
             .command = fmt::format("dcb app replace dev {} dscp-prio DSCP:PRIORITY", port.name),
             .caution = "a level needs a DSCP of its own for that (`dscp` in the policy)"});
    }
}

void check_strict(const Interface& port, Findings& findings)
{
    if (!port.settings.ets) {
        return;
    }
    const dcb::Ets& ets = *port.settings.ets;
    const auto classes = by_class(port);
    for (const auto& [above, first] : classes) {
        if (ets.traffic_class[above].selection != dcb::Selection::Strict || ets.traffic_class[above].max_rate) {
            continue;
        }
        std::vector<std::string> behind;
        for (const auto& [below, then] : classes) {
            const bool waits = below != above &&
                               (ets.traffic_class[below].selection != dcb::Selection::Strict || below < above);
            if (waits) {
                const auto names = names_of(then.levels);
                behind.insert(behind.end(), names.begin(), names.end());
            }
        }
        if (behind.empty()) {
            continue;
        }
        findings.push_back(
            {.traffic_class = above,
             .levels = names_of(first.levels),
             .what = fmt::format("traffic class {} of {} is strict, with {} in it", above, port.name,
                                 in_words(names_of(first.levels))),
             .why = fmt::format("it goes before {}, and can take all of the link, whatever shares the policy gives",
                                in_words(behind)),
             .command = fmt::format("dcb ets set dev {} tc-tsa {}:ets tc-bw {}:PERCENT", port.name, above, above),
             .caution = "the weights of all traffic classes must sum to 100"});
    }
}

}    // namespace rdmaqos::port_lint
