// What the traffic classes of a port get, compared with what the policy gives the levels that are in them.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/port_lint/rules.h"
#include "lib/tree/max_min.h"

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

// Whether packets can be in it: a class that no priority is in takes nothing.
bool is_in_use(const dcb::Ets& ets, std::size_t traffic_class)
{
    return std::ranges::find(ets.class_of_priority, traffic_class) != ets.class_of_priority.end();
}

// Of congestion notifications where nobody can read it: NICs have it so unless somebody changes it.
constexpr std::uint8_t kUsualNotificationDscp = 48;

std::optional<std::uint8_t> probable_cnp_priority(const Interface& port)
{
    const auto known = cnp_priority(port);
    return known || !has_entry(port, kUsualNotificationDscp)
               ? known
               : std::optional(dcb::priority_of_dscp(port.settings, kUsualNotificationDscp));
}

// Congestion notifications take next to nothing of a link, and are meant to go first.
bool is_for_notifications(const Interface& port, std::size_t traffic_class)
{
    const auto priority = probable_cnp_priority(port);
    const auto& classes = port.settings.ets->class_of_priority;
    return priority && classes[*priority] == traffic_class && std::ranges::count(classes, traffic_class) == 1 &&
           std::ranges::none_of(port.levels, [&](const Level& level) { return priority_of(port, level) == *priority; });
}

// Whether the policy says that all in it go before others: then nobody is surprised.
bool is_meant_to_be_strict(const Interface& port, std::uint8_t traffic_class)
{
    bool found = false;
    for (const Level& level : port.levels) {
        if (class_of_priority(port, priority_of(port, level)) != traffic_class) {
            continue;
        }
        const RootChild* child = child_of(port, level);
        if (child == nullptr || !child->is_strict) {
            return false;
        }
        found = true;
    }
    return found;
}

// A strict class that can take all of the link, and that nobody means to.
bool can_take_all(const Interface& port, std::uint8_t traffic_class)
{
    const dcb::TrafficClass& of = port.settings.ets->traffic_class[traffic_class];
    return of.selection == dcb::Selection::Strict && !of.max_rate && is_in_use(*port.settings.ets, traffic_class) &&
           !is_for_notifications(port, traffic_class) && !is_meant_to_be_strict(port, traffic_class);
}

// What strict classes can take before a class: all that are in use for one with ETS, and those above for a strict one.
struct GoesFirst {
    Bandwidth capped;                        // by their maximum rates together
    std::optional<std::uint8_t> without;     // the highest that has none: it can take all
    std::vector<std::uint8_t> with_rates;    // from the lowest
};

GoesFirst before(const Interface& port, std::uint8_t traffic_class)
{
    const dcb::Ets& ets = *port.settings.ets;
    const bool is_strict = ets.traffic_class[traffic_class].selection == dcb::Selection::Strict;
    GoesFirst first;
    for (std::uint8_t other = 0; other < dcb::kTrafficClasses; ++other) {
        const dcb::TrafficClass& each = ets.traffic_class[other];
        if (other == traffic_class || (is_strict && other < traffic_class)) {
            continue;
        }
        if (can_take_all(port, other)) {
            first.without = other;
        } else if (each.selection == dcb::Selection::Strict && each.max_rate && is_in_use(ets, other) &&
                   !is_for_notifications(port, other)) {
            first.capped = first.capped + *each.max_rate;
            first.with_rates.push_back(other);
        }
    }
    return first;
}

Bandwidth less(Bandwidth from, Bandwidth by)
{
    return Bandwidth::from_kbps(from.kbps() - std::min(from.kbps(), by.kbps()));
}

Bandwidth left_by(const GoesFirst& first, Bandwidth link)
{
    return first.without ? Bandwidth{} : less(link, first.capped);
}

// Of a class with ETS while all others send. What those leave of their parts because of their maximum rates, and the
// parts of classes that nothing is in, are divided among the rest.
Bandwidth by_weight(const dcb::Ets& ets, std::uint8_t traffic_class, Bandwidth left)
{
    std::vector<Claim> claims;
    for (std::uint8_t other = 0; other < dcb::kTrafficClasses; ++other) {
        const dcb::TrafficClass& each = ets.traffic_class[other];
        const bool takes_part = each.selection == dcb::Selection::Ets &&
                                (other == traffic_class || is_in_use(ets, other));
        Claim claim{.wanted = takes_part ? std::numeric_limits<double>::infinity() : 0.0,
                    .weight = std::max<std::uint64_t>(each.weight, 1)};
        if (takes_part && other != traffic_class && each.max_rate) {
            claim.wanted = static_cast<double>(each.max_rate->kbps());
        }
        claims.push_back(claim);
    }
    return Bandwidth::from_computed(divide_max_min(static_cast<double>(left.kbps()), claims)[traffic_class]);
}

// What is there for a class while all others send; empty: nobody knows (credits, the vendor's way).
std::optional<Bandwidth> guaranteed(const dcb::Ets& ets, std::uint8_t traffic_class, Bandwidth left)
{
    switch (ets.traffic_class[traffic_class].selection) {
    case dcb::Selection::Ets:
        return by_weight(ets, traffic_class, left);
    case dcb::Selection::Strict:
        return left;
    case dcb::Selection::CreditBasedShaper:
    case dcb::Selection::Vendor:
        break;
    }
    return std::nullopt;
}

// "traffic class 6", "traffic classes 5 and 6"
std::string classes_in_words(const std::vector<std::uint8_t>& classes)
{
    std::vector<std::string> words;
    for (const std::uint8_t each : classes) {
        words.push_back(fmt::format("{}", each));
    }
    return fmt::format("traffic class{} {}", classes.size() == 1 ? "" : "es", listed(words));
}

// " (share 30, min-rate 20 Gbit/s)": what it asks of the link, as far as that is known.
std::string part_in_words(const RootChild& child)
{
    std::vector<std::string> parts;
    if (child.share) {
        parts.push_back(fmt::format("share {}", *child.share));
    }
    if (child.min_rate) {
        parts.push_back(fmt::format("min-rate {}", to_string(*child.min_rate)));
    }
    return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

std::string what_a_class_gets(const Interface& port, std::uint8_t traffic_class, const GoesFirst& first,
                              Bandwidth given)
{
    const dcb::TrafficClass& of = port.settings.ets->traffic_class[traffic_class];
    const std::string link = to_string(*port.link_speed);
    if (first.without) {
        return fmt::format("traffic class {} of {} is left nothing while strict traffic class {}, which has no maximum "
                           "rate, sends all it can",
                           traffic_class, port.name, *first.without);
    }
    const std::string left = first.with_rates.empty() ? link
                                                      : fmt::format("the {} that strict {} can leave of {}",
                                                                    to_string(left_by(first, *port.link_speed)),
                                                                    classes_in_words(first.with_rates), link);
    if (of.selection == dcb::Selection::Strict) {
        return fmt::format("traffic class {} of {} gets {}", traffic_class, port.name, left);
    }
    const Bandwidth part = part_of(left_by(first, *port.link_speed), of.weight);
    const bool has_more = given.kbps() > part.kbps() + part.kbps() / 1000;    // not by rounding
    return fmt::format("ETS gives traffic class {} of {} {} % of {}{}, which is {}", traffic_class, port.name,
                       of.weight, left, has_more ? ", and its part of what others leave" : "", to_string(given));
}

constexpr const char* kSumCaution = "the weights of all traffic classes must sum to 100";
constexpr const char* kRateCaution = "before iproute2 6.18 (`dcb -V`) dcb sets 125 times as much: write bps there in "
                                     "place of kbit";

// Makes a strict class one among others.
std::string command_that_ends_strict(const Interface& port, std::uint8_t traffic_class)
{
    return fmt::format("dcb ets set dev {0} tc-tsa {1}:ets tc-bw {1}:PERCENT", port.name, traffic_class);
}

struct Mend {
    std::string command;
    std::string caution;
};

// A larger weight, if one is enough; else less for those that go first.
Mend mend_for_min_rate(const Interface& port, std::uint8_t traffic_class, const GoesFirst& first, Bandwidth wanted)
{
    if (first.without) {
        return {command_that_ends_strict(port, *first.without), kSumCaution};
    }
    const Bandwidth left = left_by(first, *port.link_speed);
    if (wanted <= left) {    // so it is with ETS
        const std::uint64_t percent = (wanted.kbps() * 100 + left.kbps() - 1) / left.kbps();
        return {fmt::format("dcb ets set dev {} tc-bw {}:{}", port.name, traffic_class, percent),
                std::string(kSumCaution) + ": give others less"};
    }
    if (first.with_rates.empty()) {
        return {"rdma-qosctl edit", "the policy promises more than the link has"};
    }
    return {fmt::format("dcb maxrate set dev {} tc-maxrate {}:RATE", port.name, first.with_rates.front()),
            fmt::format("strict {} may take {} of the link, at most; {}", classes_in_words(first.with_rates),
                        to_string(less(*port.link_speed, wanted)), kRateCaution)};
}

}    // namespace

void check_min_rates(const Interface& port, Findings& findings)
{
    if (!port.settings.ets || !port.link_speed || port.link_speed->is_zero()) {
        return;
    }
    for (const auto& [traffic_class, there] : by_class(port)) {
        const Bandwidth wanted = promised(there);
        const GoesFirst first = before(port, traffic_class);
        const auto given = guaranteed(*port.settings.ets, traffic_class, left_by(first, *port.link_speed));
        if (!given || *given >= wanted) {
            continue;
        }
        Mend mend = mend_for_min_rate(port, traffic_class, first, wanted);
        findings.push_back({.traffic_class = traffic_class,
                            .levels = names_of(there.levels),
                            .what = what_a_class_gets(port, traffic_class, first, *given),
                            .why = fmt::format("{} {} promised {} (min-rate)", in_words(names_of(there.levels)),
                                               there.levels.size() == 1 ? "is" : "are", to_string(wanted)),
                            .command = std::move(mend.command),
                            .caution = std::move(mend.caution)});
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
                                                   traffic_class, most.kbps()),
                            .caution = kRateCaution});
    }
}

void check_shared_class(const Interface& port, Findings& findings)
{
    if (!has_priorities(port) || port.is_divided_by_tree) {
        return;
    }
    for (const auto& [traffic_class, there] : by_class(port)) {
        const RootChild& first = *there.children.front();
        if (std::ranges::all_of(there.children, [&](const RootChild* child) { return child->share == first.share; })) {
            continue;
        }
        std::vector<std::string> children;
        for (const RootChild* child : there.children) {
            children.push_back(child->name + part_in_words(*child));
        }
        std::set<std::uint8_t> dscps;
        for (const Level* level : there.levels) {
            dscps.insert(dscp_of(level->traffic_class.value_or(0)));
        }
        const bool has_each_its_own = dscps.size() == there.levels.size() && !dscps.contains(0);
        findings.push_back(
            {.traffic_class = traffic_class,
             .levels = names_of(there.levels),
             .what = fmt::format("{} are in traffic class {} of {} together", listed(children), traffic_class,
                                 port.name),
             .why = fmt::format(
                 "the port does not tell them apart: where queue pairs attach per process, nothing "
                 "divides the link between processes by these shares{}",
                 std::ranges::any_of(there.children, [](const RootChild* child) { return child->min_rate.has_value(); })
                     ? ", or keeps what is promised (min-rate)"
                     : ""),
             .command = fmt::format("dcb app {} dev {} dscp-prio DSCP:PRIORITY", verb_that_maps(port), port.name),
             .caution = has_each_its_own ? "" : "a level needs a DSCP of its own for that (`dscp` in the policy)"});
    }
}

void check_strict(const Interface& port, Findings& findings)
{
    if (!port.settings.ets) {
        return;
    }
    const dcb::Ets& ets = *port.settings.ets;
    const auto classes = by_class(port);
    for (std::uint8_t above = 0; above < dcb::kTrafficClasses; ++above) {
        if (!can_take_all(port, above)) {
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
        std::vector<const Level*> inside;
        for (const Level& level : port.levels) {
            if (class_of_priority(port, priority_of(port, level)) == above) {
                inside.push_back(&level);
            }
        }
        std::vector<std::uint8_t> priorities;
        for (std::uint8_t priority = 0; priority < dcb::kPriorities; ++priority) {
            if (ets.class_of_priority[priority] == above) {
                priorities.push_back(priority);
            }
        }
        findings.push_back(
            {.traffic_class = above,
             .levels = names_of(inside),
             .what = inside.empty() ? fmt::format("traffic class {} of {} is strict, with {} and no level in it", above,
                                                  port.name, priorities_in_words(priorities))
                                    : fmt::format("traffic class {} of {} is strict, with {} in it", above, port.name,
                                                  in_words(names_of(inside))),
             .why = fmt::format("it goes before {}, and can take all of the link, whatever shares the policy gives",
                                in_words(behind)),
             .command = command_that_ends_strict(port, above),
             .caution = port.settings.has_max_rates
                            ? fmt::format("{}; or let it go first, with a maximum rate: `dcb maxrate set dev {} "
                                          "tc-maxrate {}:RATE` ({})",
                                          kSumCaution, port.name, above, kRateCaution)
                            : kSumCaution});
    }
}

}    // namespace rdmaqos::port_lint
