// Which priority packets have: of levels, of congestion notifications, of programs that mark nothing.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "lib/port_lint/rules.h"

namespace rdmaqos::port_lint {
namespace {

std::set<std::uint8_t> dscps_of(const std::vector<const Level*>& levels)
{
    std::set<std::uint8_t> dscps;
    for (const Level* level : levels) {
        dscps.insert(dscp_of(*level->traffic_class));
    }
    return dscps;
}

// Only the first gets the priority that is suggested: levels with one priority would be in one traffic class.
std::string command_that_maps(const Interface& port, const std::set<std::uint8_t>& dscps)
{
    if (!can_map_dscps(port)) {
        return {};
    }
    std::string entries;
    for (const std::uint8_t dscp : dscps) {
        entries += fmt::format(" {}:{}", dscp, entries.empty() ? suggested_priority(port) : "PRIORITY");
    }
    return fmt::format("dcb app add dev {} dscp-prio{}", port.name, entries);
}

constexpr const char* kTrustCaution = "the first entry makes the port trust the DSCP of all its packets";

}    // namespace

void check_trust(const Interface& port, Findings& findings)
{
    const auto marked = marked_levels(port);
    if (marked.empty() || !has_priorities(port) || dcb::trusts_dscp(port.settings)) {
        return;
    }
    findings.push_back(
        {.levels = names_of(marked),
         .what = fmt::format("{} does not look at the DSCP of packets: no DSCP has a priority", port.name),
         .why = fmt::format("packets of {} have priority 0, in traffic class {}, with all that have no mark{}",
                            in_words(names_of(marked)), class_of_priority(port, 0),
                            can_map_dscps(port) ? "" : fmt::format("; its driver, {}, cannot map DSCPs", port.driver)),
         .command = command_that_maps(port, dscps_of(marked)),
         .caution = can_map_dscps(port) ? kTrustCaution : ""});
}

void check_data_priority(const Interface& port, Findings& findings)
{
    if (!dcb::trusts_dscp(port.settings)) {
        return;
    }
    std::map<std::uint8_t, std::vector<const Level*>> lost;
    for (const Level* level : marked_levels(port)) {
        if (const std::uint8_t dscp = dscp_of(*level->traffic_class); !has_entry(port, dscp)) {
            lost[dscp].push_back(level);
        }
    }
    for (const auto& [dscp, levels] : lost) {
        findings.push_back(
            {.traffic_class = class_of_priority(port, 0),
             .levels = names_of(levels),
             .what = fmt::format("DSCP {} of {} has no priority on {}", dscp, in_words(names_of(levels)), port.name),
             .why = fmt::format("these packets have priority 0, in traffic class {}, with all that have "
                                "no mark",
                                class_of_priority(port, 0)),
             .command = command_that_maps(port, {dscp})});
    }
}

void check_cnp_class(const Interface& port, Findings& findings)
{
    const auto priority = cnp_priority(port);
    if (!priority || !port.settings.ets) {
        return;    // without traffic classes they wait behind everything anyway
    }
    const std::uint8_t traffic_class = class_of_priority(port, *priority);
    std::vector<const Level*> sharing;
    for (const Level& level : port.levels) {
        if (class_of_priority(port, priority_of(port, level)) == traffic_class) {
            sharing.push_back(&level);
        }
    }
    const auto& cnp = port.rdma.notifications;
    const bool is_unmapped = dcb::trusts_dscp(port.settings) && !has_entry(port, *cnp.dscp);
    if (sharing.empty() && !is_unmapped) {
        return;
    }
    const std::string who = sharing.empty() ? "everything that has no mark"
                                            : "packets of " + in_words(names_of(sharing));
    findings.push_back(
        {.traffic_class = traffic_class,
         .levels = names_of(sharing),
         .what = is_unmapped ? fmt::format("congestion notifications (CNP) of {} have DSCP {}, which has no priority",
                                           port.name, *cnp.dscp)
                             : fmt::format("congestion notifications (CNP) of {} have priority {}, in traffic class {}",
                                           port.name, *priority, traffic_class),
         .why = fmt::format("they wait behind {} in the same traffic class, so that senders slow down too late", who),
         .command = dcb::trusts_dscp(port.settings)
                        ? command_that_maps(port, *cnp.dscp, "6")
                        : fmt::format("echo 6 >/sys/class/net/{}/ecn/roce_np/cnp_802p_prio", port.name),
         .caution = "priority 6 must be in a traffic class without data: `dcb ets show dev " + port.name + "`"});
}

namespace {

// What connections of rdma_cm do not get, of which programs that set nothing know nothing.
struct Missed {
    std::vector<const Level*> levels;
    std::string why;
};

Missed missed_losslessness(const Interface& port, const std::vector<const Level*>& marked, std::uint8_t priority)
{
    Missed missed;
    std::ranges::copy_if(marked, std::back_inserter(missed.levels),
                         [&](const Level* level) { return is_lossless(port, priority_of(port, *level)); });
    if (is_lossless(port, priority) || missed.levels.empty()) {
        return {};
    }
    missed.why = fmt::format("their packets can be dropped, while those of {} are in lossless {}",
                             in_words(names_of(missed.levels)),
                             priorities_in_words({priority_of(port, *missed.levels.front())}));
    return missed;
}

// Where one tree divides the port, classes of the port do not decide what a level gets.
Missed missed_class(const Interface& port, const std::vector<const Level*>& marked, std::uint8_t priority)
{
    if (!port.settings.ets || port.is_divided_by_tree) {
        return {};
    }
    const std::uint8_t traffic_class = class_of_priority(port, priority);
    const auto class_of = [&](const Level* level) { return class_of_priority(port, priority_of(port, *level)); };
    Missed missed;
    std::ranges::copy_if(marked, std::back_inserter(missed.levels),
                         [&](const Level* level) { return class_of(level) != traffic_class; });
    if (!missed.levels.empty()) {
        missed.why = fmt::format("their packets are in traffic class {}, with another share of the link than those of "
                                 "{} in traffic class {}",
                                 traffic_class, in_words(names_of({missed.levels.front()})),
                                 class_of(missed.levels.front()));
    }
    return missed;
}

}    // namespace

void check_rdma_cm(const Interface& port, Findings& findings)
{
    const auto marked = marked_levels(port);
    const std::uint8_t tos = port.rdma.default_tos.value_or(0);
    if (port.rdma.device.empty() || std::ranges::any_of(marked, [&](const Level* level) {
            return dscp_of(*level->traffic_class) == dscp_of(tos);
        })) {
        return;    // as packets of that level, of which other rules speak
    }
    const std::uint8_t priority = dcb::priority_of_dscp(port.settings, dscp_of(tos));
    Missed missed = missed_losslessness(port, marked, priority);
    if (missed.levels.empty()) {
        missed = missed_class(port, marked, priority);
    }
    if (missed.levels.empty()) {
        return;
    }
    findings.push_back(
        {.traffic_class = class_of_priority(port, priority),
         .levels = names_of(missed.levels),
         .what = fmt::format(
             "connections of rdma_cm on {} whose program sets no type of service get {}, so priority {}",
             port.rdma.device, tos, priority),
         .why = std::move(missed.why),
         .command = command_for_default_tos(port, *missed.levels.front()->traffic_class),
         .caution = fmt::format("it applies to new connections of all programs{}; `rdma-qos-run --default-roce-tos` "
                                "sets it for as long as a program runs",
                                missed.levels.size() > 1 ? ", also to those that should have another level" : "")});
}

void check_roce_mode(const Interface& port, Findings& findings)
{
    const auto marked = marked_levels(port);
    const std::string& mode = port.rdma.default_mode;
    if (marked.empty() || mode.empty() || mode == "RoCE v2") {
        return;
    }
    findings.push_back(
        {.levels = names_of(marked),
         .what = fmt::format("rdma_cm uses {} on {} by default", mode, port.rdma.device),
         .why = fmt::format("only packets of RoCE v2 have a DSCP: those of connections that rdma_cm makes "
                            "are not in the traffic classes of {}",
                            in_words(names_of(marked))),
         .command = fmt::format("echo 'RoCE v2' "
                                ">/sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_mode",
                                port.rdma.device, port.rdma.port)});
}

namespace {

std::string command_that_ends_forcing(const Interface& port)
{
    return fmt::format("echo 0 >/sys/class/infiniband/{}/tc/{}/traffic_class", port.rdma.device, port.rdma.port);
}

}    // namespace

void check_forced_class(const Interface& port, Findings& findings)
{
    if (!port.rdma.forced_traffic_class) {
        return;
    }
    const std::uint8_t forced = dscp_of(*port.rdma.forced_traffic_class);
    std::vector<const Level*> others = marked_levels(port);
    std::erase_if(others, [&](const Level* level) { return dscp_of(*level->traffic_class) == forced; });
    if (others.empty()) {
        return;
    }
    findings.push_back(
        {.traffic_class = class_of_priority(port, dcb::priority_of_dscp(port.settings, forced)),
         .levels = names_of(others),
         .what = fmt::format("the driver gives every queue pair of {} traffic class {} (DSCP {}), whatever its program "
                             "says",
                             port.rdma.device, *port.rdma.forced_traffic_class, forced),
         .why = fmt::format("what launchers and variables set for {} has no effect, but for queue pairs that are made "
                            "without the kernel (DEVX)",
                            in_words(names_of(others))),
         .command = command_that_ends_forcing(port),
         .caution = "programs that mark nothing lose their DSCP"});
}

void check_unforced_queue_pairs(const Interface& port, Findings& findings)
{
    if (!port.rdma.forced_traffic_class || !has_priorities(port)) {
        return;
    }
    const std::uint8_t forced = dcb::priority_of_dscp(port.settings, dscp_of(*port.rdma.forced_traffic_class));
    const bool differs = class_of_priority(port, forced) != class_of_priority(port, 0) ||
                         is_lossless(port, forced) != is_lossless(port, 0);
    if (!differs) {
        return;
    }
    findings.push_back(
        {.traffic_class = class_of_priority(port, 0),
         .what = fmt::format("queue pairs that {} makes without the kernel (DEVX: UCX, IBGDA, DOCA, NCCL's GIN) do not "
                             "get the traffic class {} that the driver gives all others",
                             port.rdma.device, *port.rdma.forced_traffic_class),
         .why = fmt::format("unless their program marks them, they have priority 0, in traffic class {}{}",
                            class_of_priority(port, 0),
                            is_lossless(port, forced) && !is_lossless(port, 0)
                                ? fmt::format(", where packets can be dropped; priority {} is lossless", forced)
                                : ""),
         .command = "rdma-qosctl env --level LEVEL"});
}

}    // namespace rdmaqos::port_lint
