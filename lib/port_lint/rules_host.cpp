// Who else sets a port, and whether the ports of a host are alike.
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lib/dcb/driver.h"
#include "lib/dcb/words.h"
#include "lib/port_lint/rules.h"

namespace rdmaqos::port_lint {
namespace {

std::string text_of_apps(const Interface& port)
{
    std::string text;
    for (const dcb::AppEntry& entry : port.settings.apps) {
        if (entry.selector == dcb::Selector::Dscp) {
            text += fmt::format("{}{}:{}", text.empty() ? "" : " ", entry.protocol, entry.priority);
        }
    }
    return text.empty() ? "none" : text;
}

const char* lossless_in_words(const Interface& port, std::uint8_t priority)
{
    return is_lossless(port, priority) ? "the lossless " : "";
}

// Switches it over.
std::string command_for_pfc(const Interface& port, std::uint8_t priority)
{
    return fmt::format("dcb pfc set dev {} prio-pfc {}:{}", port.name, priority,
                       is_lossless(port, priority) ? "off" : "on");
}

std::string text_of_pfc(const Interface& port)
{
    std::string text;
    for (std::size_t priority = 0; priority < dcb::kPriorities; ++priority) {
        if (port.settings.pfc && port.settings.pfc->lossless[priority]) {
            text += fmt::format("{}{}", text.empty() ? "" : " ", priority);
        }
    }
    return text.empty() ? "none" : text;
}

std::string text_of_map(const Interface& port)
{
    std::string text;
    for (std::uint8_t priority = 0; port.settings.ets && priority < dcb::kPriorities; ++priority) {
        text += fmt::format("{}{}:{}", text.empty() ? "" : " ", priority, class_of_priority(port, priority));
    }
    return text.empty() ? "none" : text;
}

std::string text_of_classes(const Interface& port)
{
    std::string text;
    for (std::size_t i = 0; port.settings.ets && i < dcb::kTrafficClasses; ++i) {
        const dcb::TrafficClass& each = port.settings.ets->traffic_class[i];
        text += text.empty() ? "" : " ";
        text += each.selection == dcb::Selection::Ets ? fmt::format("{}:{} %", i, each.weight)
                                                      : fmt::format("{}:{}", i, dcb::tsa_word(each.selection));
        text += each.max_rate ? fmt::format(" to {}", to_string(*each.max_rate)) : "";
    }
    return text.empty() ? "none" : text;
}

std::string text_of_cnp(const Interface& port)
{
    const auto& dscp = port.rdma.notifications.dscp;
    return dscp ? fmt::format("{}", *dscp) : "unknown";
}

std::string text_of_tos(const Interface& port)
{
    return fmt::format("{}", port.rdma.default_tos.value_or(0));
}

std::string mend_apps(const Interface& port, const Interface& model)
{
    return fmt::format("dcb app flush dev {0} dscp-prio && dcb app add dev {0} dscp-prio {1}", port.name,
                       text_of_apps(model));
}

std::string mend_pfc(const Interface& port, const Interface& model)
{
    std::string on;
    for (std::uint8_t priority = 0; priority < dcb::kPriorities; ++priority) {
        on += is_lossless(model, priority) ? fmt::format(" {}:on", priority) : "";
    }
    return fmt::format("dcb pfc set dev {} prio-pfc all:off{}", port.name, on);
}

std::string mend_map(const Interface& port, const Interface& model)
{
    return fmt::format("dcb ets set dev {} prio-tc {}", port.name, text_of_map(model));
}

// Classes that the NIC's vendor schedules: dcb(8) cannot set a class so.
std::size_t count_vendor_classes(const Interface& port)
{
    return port.settings.ets
               ? static_cast<std::size_t>(std::ranges::count(port.settings.ets->traffic_class, dcb::Selection::Vendor,
                                                             &dcb::TrafficClass::selection))
               : 0;
}

std::string mend_classes(const Interface& port, const Interface& model)
{
    if (count_vendor_classes(model) > count_vendor_classes(port)) {
        return mend_classes(model, port);    // the other way round, there is no command
    }
    std::string kinds;
    std::string weights;
    for (std::size_t i = 0; model.settings.ets && i < dcb::kTrafficClasses; ++i) {
        const dcb::TrafficClass& each = model.settings.ets->traffic_class[i];
        if (each.selection == dcb::Selection::Vendor) {
            continue;
        }
        kinds += fmt::format(" {}:{}", i, dcb::tsa_word(each.selection));
        weights += fmt::format(" {}:{}", i, each.selection == dcb::Selection::Ets ? each.weight : 0);
    }
    return fmt::format("dcb ets set dev {} tc-tsa{} tc-bw{}", port.name, kinds, weights);
}

std::string mend_cnp(const Interface& port, const Interface& model)
{
    return fmt::format("echo {} >/sys/class/net/{}/ecn/roce_np/cnp_dscp", text_of_cnp(model), port.name);
}

std::string mend_tos(const Interface& port, const Interface& model)
{
    return command_for_default_tos(port, model.rdma.default_tos.value_or(0));
}

// What should be the same for all ports of a kind.
struct Likeness {
    const char* what;
    std::string (*text)(const Interface& port);
    std::string (*mend)(const Interface& port, const Interface& model);
    const char* caution;
};
constexpr Likeness kLikenesses[] = {
    {"priorities of DSCPs", text_of_apps, mend_apps, ""},
    {"lossless priorities", text_of_pfc, mend_pfc, kPfcCaution},
    {"traffic classes of priorities", text_of_map, mend_map, ""},
    {"weights and maximum rates", text_of_classes, mend_classes, "maximum rates: `dcb maxrate set`"},
    {"DSCP of congestion notifications", text_of_cnp, mend_cnp, ""},
    {"default type of service of rdma_cm", text_of_tos, mend_tos, ""},
};

// The most common text, and the first such port.
const Interface& model_port(const std::vector<const Interface*>& ports, const Likeness& likeness)
{
    std::map<std::string, std::size_t> count;
    for (const Interface* port : ports) {
        ++count[likeness.text(*port)];
    }
    const Interface* best = ports.front();
    for (const Interface* port : ports) {
        if (count[likeness.text(*port)] > count[likeness.text(*best)]) {
            best = port;
        }
    }
    return *best;
}

// A DSCP whose packets have another priority on another port, or PFC on one of the two only. That can be compared
// whatever the cards are.
struct UnlikeDscp {
    std::uint8_t dscp = 0;
    std::uint8_t here = 0;    // its priority on the port
    std::uint8_t there = 0;
    std::vector<const Level*> levels;    // that mark their packets with it

    [[nodiscard]] bool has_another_priority() const { return here != there; }
};

// Of the levels of `port`, with ascending DSCPs.
std::vector<UnlikeDscp> unlike_dscps(const Interface& port, const Interface& other)
{
    std::map<std::uint8_t, UnlikeDscp> unlike;
    for (const Level* level : marked_levels(port)) {
        const std::uint8_t dscp = dscp_of(*level->traffic_class);
        const std::uint8_t here = priority_of(port, *level);
        const std::uint8_t there = priority_of(other, *level);
        if (here != there || is_lossless(port, here) != is_lossless(other, there)) {
            UnlikeDscp& one = unlike[dscp];
            one.dscp = dscp;
            one.here = here;
            one.there = there;
            one.levels.push_back(level);
        }
    }
    std::vector<UnlikeDscp> result;
    for (auto& [dscp, one] : unlike) {
        result.push_back(std::move(one));
    }
    return result;
}

// What makes `port` like the other one; `service` says how their packets fare as it is.
Finding unlike_finding(const Interface& port, const Interface& other, const UnlikeDscp& unlike,
                       std::string_view other_name, std::string_view service)
{
    return {.traffic_class = class_of_priority(port, unlike.here),
            .levels = names_of(unlike.levels),
            .what = fmt::format("DSCP {} has {}priority {} on {}, and {}priority {} on {}", unlike.dscp,
                                lossless_in_words(port, unlike.here), unlike.here, port.name,
                                lossless_in_words(other, unlike.there), unlike.there, other_name),
            .why = fmt::format("packets of {} get another service {}", in_words(names_of(unlike.levels)), service),
            .command = unlike.has_another_priority()
                           ? command_that_maps(port, unlike.dscp, fmt::format("{}", unlike.there))
                           : command_for_pfc(port, unlike.here),
            .caution = unlike.has_another_priority() ? "" : kPfcCaution};
}

void compare_levels(const Interface& port, const Interface& model, Findings& findings)
{
    const auto in_model = marked_levels(model);
    for (const UnlikeDscp& unlike : unlike_dscps(port, model)) {
        if (std::ranges::any_of(in_model,
                                [&](const Level* other) { return dscp_of(*other->traffic_class) == unlike.dscp; })) {
            findings.push_back(unlike_finding(port, model, unlike, model.name, "on each of these NICs"));
            findings.back().interface = port.name;
        }
    }
}

// "26:3 lossless 34:4"
std::string text_of_levels(const Interface& port)
{
    std::map<std::uint8_t, std::string> entries;
    for (const Level* level : marked_levels(port)) {
        const std::uint8_t priority = priority_of(port, *level);
        entries[dscp_of(*level->traffic_class)] = fmt::format("{}{}", lossless_in_words(port, priority), priority);
    }
    std::string text;
    for (const auto& [dscp, words] : entries) {
        text += fmt::format("{}:{} ", dscp, words);
    }
    return text;
}

constexpr Likeness kLevelLikeness{"", text_of_levels, nullptr, ""};

// ", and each write of PFC takes the link down and up"
std::string disruptions_of(const std::string& name)
{
    const dcb::Driver* driver = dcb::find_driver(name);
    if (driver == nullptr) {
        return {};
    }
    const auto worst = std::max({driver->disrupts.weights, driver->disrupts.priorities, driver->disrupts.apps});
    if (worst != dcb::Disruption::None) {
        return fmt::format(", and a write of ETS or of entries {}", dcb::in_words(worst));
    }
    return driver->disrupts.pfc == dcb::Disruption::None
               ? ""
               : fmt::format(", and a write of PFC {}", dcb::in_words(driver->disrupts.pfc));
}

}    // namespace

void check_negotiation(const Interface& port, Findings& findings)
{
    if (!port.settings.dcbx || port.settings.dcbx->host) {
        return;
    }
    findings.push_back(
        {.what = fmt::format("the firmware of {} negotiates with the switch (DCBX), not the host", port.name),
         .why = "what is set here may be refused, or be overwritten when the switch says something else",
         .command = fmt::format("dcb dcbx set dev {} host ieee", port.name),
         .caution = port.driver == "mlx5_core"
                        ? ""
                        : "an agent in the firmware must be turned off first: `ethtool --show-priv-flags " + port.name +
                              "`"});
}

void check_rewrites(const Interface& port, Findings& findings)
{
    if (!port.rewrites || port.rewrites->count < 2) {
        return;
    }
    Finding finding{.what = fmt::format("the settings of {} were written {} times within {} s, last by {}", port.name,
                                        port.rewrites->count, port.rewrites->seconds,
                                        dcb::in_words(port.rewrites->author)),
                    .why = fmt::format("whatever else sets this port is overwritten{}", disruptions_of(port.driver))};
    switch (port.rewrites->author) {
    case dcb::Author::DcbTool:
        finding.command = "grep -rlw dcb /etc /usr/local";
        finding.caution = "it lists scripts and units that may run dcb: end the one that does so again and again";
        break;
    case dcb::Author::Driver:
        finding.command = fmt::format("dcb dcbx set dev {} host ieee", port.name);
        finding.caution = "if it is an agent of the firmware, which takes what the switch says; a NIC that is reset "
                          "sets its port, too";
        break;
    case dcb::Author::Ourselves:
    case dcb::Author::Unknown:
        finding.command = fmt::format("lldptool -L -i {} adminStatus=disabled", port.name);
        finding.caution = "if it is lldpad, which writes whenever it sends; else look for scripts that run mlnx_qos";
        break;
    }
    findings.push_back(std::move(finding));
}

// What one end does with a DSCP decides what happens to the packets that it sends; a pause is for a priority.
void check_other_ends(const Interface& port, Findings& findings)
{
    if (!has_priorities(port)) {
        return;
    }
    for (const OtherEnd& end : port.other_ends) {
        Interface other;
        other.settings = end.settings;
        for (const UnlikeDscp& unlike : unlike_dscps(port, other)) {
            Finding finding = unlike_finding(port, other, unlike, end.name, "in one direction than in the other");
            finding.caution += fmt::format(
                "{}or set the other end as this one{}; and the switches between them",
                finding.caution.empty() ? "" : "; ",
                is_lossless(port, unlike.here) && !is_lossless(other, unlike.there) ? ", which is lossless" : "");
            findings.push_back(std::move(finding));
        }
    }
}

void check_virtual_lanes(const Interface& port, Findings& findings)
{
    for (const std::string& difference : port.lanes_that_differ) {
        findings.push_back({.what = fmt::format("{}: {}", port.name, difference),
                            .why = "the fabric divides its links otherwise than the policy divides the NIC",
                            .command = "rdma-qosctl export opensm",
                            .caution = "its lines are for the configuration of the subnet manager, and for all of the "
                                       "fabric's links"});
    }
}

void check_infiniband(std::span<const Interface> host, Findings& findings)
{
    const bool only = !host.empty() && std::ranges::all_of(host, [](const Interface& port) {
        return port.is_infiniband && !port.is_beside_ethernet;
    });
    const auto marked = only ? marked_levels(host.front()) : std::vector<const Level*>{};
    if (marked.empty()) {
        return;
    }
    findings.push_back(
        {.interface = host.front().name,
         .levels = names_of(marked),
         .what = fmt::format("{} {} a traffic class, and all ports of this host are on InfiniBand, where packets have "
                             "none",
                             in_words(names_of(marked)), marked.size() == 1 ? "has" : "have"),
         .why = "it has no effect, and a library that is told one may not start: NVSHMEM ends if "
                "NVSHMEM_IB_TRAFFIC_CLASS is set here",
         .command = fmt::format("rdma-qosctl env --level {}", marked.front()->name),
         .caution = "it prints what programs may be told on this host; unset the other variables"});
}

void check_alike(std::span<const Interface> host, Findings& findings)
{
    std::map<std::string, std::vector<const Interface*>> by_driver;
    std::vector<const Interface*> all;
    for (const Interface& port : host) {
        if (!port.rdma.device.empty() && has_priorities(port)) {
            by_driver[port.driver].push_back(&port);
            if (can_map_dscps(port)) {
                all.push_back(&port);
            }
        }
    }
    for (const auto& [driver, ports] : by_driver) {
        for (const Likeness& likeness : kLikenesses) {
            const Interface& model = model_port(ports, likeness);
            for (const Interface* port : ports) {
                if (likeness.text(*port) == likeness.text(model)) {
                    continue;
                }
                findings.push_back({.interface = port->name,
                                    .what = fmt::format("{} of {}: {}; of {}: {}", likeness.what, port->name,
                                                        likeness.text(*port), model.name, likeness.text(model)),
                                    .why = "a program that uses several NICs of this host gets another service on each",
                                    .command = likeness.mend(*port, model),
                                    .caution = likeness.caution});
            }
        }
    }
    if (all.empty()) {
        return;
    }
    const Interface& model = model_port(all, kLevelLikeness);
    for (const Interface* port : all) {
        // Of a port that is unlike others with its driver, that has been said.
        if (port->driver != model.driver &&
            text_of_levels(*port) == text_of_levels(model_port(by_driver[port->driver], kLevelLikeness))) {
            compare_levels(*port, model, findings);
        }
    }
}

}    // namespace rdmaqos::port_lint
