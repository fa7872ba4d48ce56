// What is lossless (PFC), which buffers it has, and who reacts to congestion before it is needed (DCQCN).
#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "lib/port_bytes/port_bytes.h"
#include "lib/port_lint/rules.h"

namespace rdmaqos::port_lint {
namespace {

std::vector<std::uint8_t> lossless_priorities(const Interface& port)
{
    std::vector<std::uint8_t> priorities;
    for (std::uint8_t priority = 0; priority < dcb::kPriorities; ++priority) {
        if (is_lossless(port, priority)) {
            priorities.push_back(priority);
        }
    }
    return priorities;
}

std::string command_that_ends_pfc(const Interface& port, const std::vector<std::uint8_t>& priorities)
{
    std::string off;
    for (const std::uint8_t priority : priorities) {
        off += fmt::format(" {}:off", priority);
    }
    return fmt::format("dcb pfc set dev {} prio-pfc{}", port.name, off);
}

}    // namespace

void check_cnp_lossless(const Interface& port, Findings& findings)
{
    const auto priority = cnp_priority(port);
    if (!priority || !is_lossless(port, *priority)) {
        return;
    }
    findings.push_back({.traffic_class = class_of_priority(port, *priority),
                        .what = fmt::format("congestion notifications (CNP) of {} have the lossless priority {}",
                                            port.name, *priority),
                        .why = "a pause stops them when they are needed, and the congestion that they report spreads",
                        .command = dcb::trusts_dscp(port.settings)
                                       ? command_that_maps(port, *port.rdma.notifications.dscp, "6")
                                       : fmt::format("echo 6 >/sys/class/net/{}/ecn/roce_np/cnp_802p_prio", port.name),
                        .caution = "priority 6 must not be lossless"});
}

void check_unused_pfc(const Interface& port, Findings& findings)
{
    const auto marked = marked_levels(port);
    if (marked.empty() || port.rdma.device.empty()) {
        return;    // then it is for something that the policy does not know
    }
    std::vector<std::uint8_t> used{dcb::priority_of_dscp(port.settings, dscp_of(port.rdma.default_tos.value_or(0)))};
    if (port.rdma.forced_traffic_class) {
        used.push_back(dcb::priority_of_dscp(port.settings, dscp_of(*port.rdma.forced_traffic_class)));
    }
    for (const Level& level : port.levels) {
        used.push_back(priority_of(port, level));
    }
    std::vector<std::uint8_t> unused = lossless_priorities(port);
    const std::size_t all = unused.size();
    std::erase_if(unused, [&](std::uint8_t priority) { return std::ranges::find(used, priority) != used.end(); });
    if (unused.empty()) {
        return;
    }
    const bool nothing_is_used = unused.size() == all;
    Finding finding{.levels = names_of(marked),
                    .what = fmt::format("PFC makes {} of {} lossless, which no level's packets have",
                                        priorities_in_words(unused), port.name),
                    .why = nothing_is_used ? fmt::format("packets of {} can be dropped", in_words(names_of(marked)))
                                           : "other traffic that gets there can pause this host and its switch port"};
    // A level whose packets have no priority may be what it is for. One that has its own keeps it, unless nothing else
    // of the policy is lossless.
    const auto lost = std::ranges::find_if(
        marked, [&](const Level* level) { return !has_entry(port, dscp_of(*level->traffic_class)); });
    if (nothing_is_used || lost != marked.end()) {
        const Level& level = lost != marked.end() ? **lost : *marked.front();
        finding.command = command_that_maps(port, dscp_of(*level.traffic_class), fmt::format("{}", unused.front()));
        finding.caution = fmt::format("if level {} is not meant to be lossless: `{}`, and {}", level.name,
                                      command_that_ends_pfc(port, unused), kPfcCaution);
    } else {
        finding.command = command_that_ends_pfc(port, unused);
        finding.caution = kPfcCaution;
    }
    findings.push_back(std::move(finding));
}

void check_mixed_class(const Interface& port, Findings& findings)
{
    if (!port.settings.ets || !has_lossless(port)) {
        return;
    }
    for (std::uint8_t traffic_class = 0; traffic_class < dcb::kTrafficClasses; ++traffic_class) {
        std::vector<std::uint8_t> lossless;
        std::vector<std::uint8_t> others;
        for (std::uint8_t priority = 0; priority < dcb::kPriorities; ++priority) {
            if (class_of_priority(port, priority) == traffic_class) {
                (is_lossless(port, priority) ? lossless : others).push_back(priority);
            }
        }
        if (lossless.empty() || others.empty()) {
            continue;
        }
        std::vector<std::string> levels;
        for (const Level& level : port.levels) {
            if (class_of_priority(port, priority_of(port, level)) == traffic_class) {
                levels.push_back(level.name);
            }
        }
        findings.push_back(
            {.traffic_class = traffic_class,
             .levels = levels,
             .what = fmt::format("traffic class {} of {} has lossless {} and {}, which can be dropped", traffic_class,
                                 port.name, priorities_in_words(lossless), priorities_in_words(others)),
             .why = "they wait for each other: a pause of the lossless ones holds up the others",
             .command = fmt::format("dcb ets set dev {} prio-tc {}:TRAFFIC-CLASS", port.name, lossless.front())});
    }
}

void check_lossy_rdma(const Interface& port, Findings& findings)
{
    if (!port.rdma.sent || !has_lossless(port)) {
        return;
    }
    // All packets of the lossless priorities may be those of RDMA. What is more than that cannot be there.
    std::uint64_t in_lossless = 0;
    for (std::uint8_t priority = 0; priority < dcb::kPriorities; ++priority) {
        in_lossless += is_lossless(port, priority) ? port.rdma.sent->of_priority[priority] : 0;
    }
    const std::uint64_t of_rdma = port.rdma.sent->of_rdma;
    // The two are counted at different places, not at the same moment.
    constexpr std::uint64_t kUnequal = 20;
    if (of_rdma <= in_lossless || of_rdma - in_lossless <= of_rdma / kUnequal) {
        return;
    }
    findings.push_back(
        {.what = fmt::format("RDMA sent {} by {}, and at least {} of them not in a lossless priority",
                             port_bytes::rough(of_rdma), port.name, port_bytes::rough(of_rdma - in_lossless)),
         .why = fmt::format(
             "some programs do not mark their packets, or mark them otherwise than {} says; these packets "
             "can be dropped",
             priorities_in_words(lossless_priorities(port))),
         .command = "rdma-qosctl env --level LEVEL"});
}

void check_buffers(const Interface& port, Findings& findings)
{
    if (!port.settings.buffers || !has_lossless(port)) {
        return;
    }
    const dcb::Buffers& buffers = *port.settings.buffers;
    for (std::size_t buffer = 0; buffer < dcb::kTrafficClasses; ++buffer) {
        std::vector<std::uint8_t> lossless;
        std::vector<std::uint8_t> others;
        for (std::uint8_t priority = 0; priority < dcb::kPriorities; ++priority) {
            if (buffers.buffer_of_priority[priority] == buffer) {
                (is_lossless(port, priority) ? lossless : others).push_back(priority);
            }
        }
        if (lossless.empty()) {
            continue;
        }
        if (buffers.size[buffer] == 0) {
            findings.push_back(
                {.what = fmt::format("lossless {} of {} use receive buffer {}, which has no space",
                                     priorities_in_words(lossless), port.name, buffer),
                 .why = "what arrives before a pause takes effect is dropped",
                 .command = fmt::format("dcb buffer set dev {} buffer-size {}:BYTES", port.name, buffer)});
        } else if (!others.empty()) {
            findings.push_back(
                {.what = fmt::format("lossless {} and {} of {} share receive buffer {}", priorities_in_words(lossless),
                                     priorities_in_words(others), port.name, buffer),
                 .why = "traffic that is not paused fills the space that lossless traffic needs after a pause",
                 .command = fmt::format("dcb buffer set dev {} prio-buffer {}:BUFFER", port.name, lossless.front())});
        }
    }
}

void check_reaction(const Interface& port, Findings& findings)
{
    const Notifications& cnp = port.rdma.notifications;
    if (!cnp.are_sent || !cnp.are_obeyed) {
        return;
    }
    // Sending is a switch of the whole port, though it has a file for each priority.
    const bool are_sent = std::ranges::find(*cnp.are_sent, true) != cnp.are_sent->end();
    std::map<std::uint8_t, std::vector<const Level*>> deaf;
    for (const Level* level : marked_levels(port)) {
        if (const auto priority = priority_of(port, *level); !(*cnp.are_obeyed)[priority] && are_sent) {
            deaf[priority].push_back(level);
        }
    }
    for (const auto& [priority, levels] : deaf) {
        findings.push_back(
            {.traffic_class = class_of_priority(port, priority),
             .levels = names_of(levels),
             .what = fmt::format("{} sends congestion notifications, but does not obey them for priority {}", port.name,
                                 priority),
             .why = fmt::format("queue pairs of {} do not slow down when the network is congested",
                                in_words(names_of(levels))),
             .command = fmt::format("echo 1 >/sys/class/net/{}/ecn/roce_rp/enable/{}", port.name, priority)});
    }
    const bool are_obeyed = std::ranges::find(*cnp.are_obeyed, true) != cnp.are_obeyed->end();
    if (!are_sent && are_obeyed) {
        findings.push_back({.what = fmt::format("{} obeys congestion notifications, but sends none", port.name),
                            .why = "its peers are not told that their packets were marked, and do not slow down",
                            .command = fmt::format("echo 1 >/sys/class/net/{}/ecn/roce_np/enable/{}", port.name,
                                                   suggested_priority(port))});
    }
}

}    // namespace rdmaqos::port_lint
