// What the kernel itself sends (NFS over RDMA, iSER, Lustre): no program marks it, and rdma_cm has one default for all.
#include <map>

#include <fmt/format.h>

#include "lib/port_lint/rules.h"

namespace rdmaqos::port_lint {
namespace {

std::string with_module(const KernelTraffic& traffic)
{
    return fmt::format("{} ({})", traffic.what, traffic.module);
}

// By the DSCP that they should have.
using Wanted = std::map<std::uint8_t, std::vector<const KernelTraffic*>>;

std::vector<std::string> protocols_of(const std::vector<const KernelTraffic*>& traffic)
{
    std::vector<std::string> words;
    for (const KernelTraffic* each : traffic) {
        words.push_back(with_module(*each));
    }
    return words;
}

std::vector<std::string> levels_of(const std::vector<const KernelTraffic*>& traffic)
{
    std::vector<std::string> levels;
    for (const KernelTraffic* each : traffic) {
        if (levels.empty() || levels.back() != each->level) {
            levels.push_back(each->level);
        }
    }
    return levels;
}

// One default cannot be right for all of them.
void tell_of_conflict(const Interface& port, const Wanted& wanted, Findings& findings)
{
    std::vector<std::string> parts;
    std::vector<std::string> levels;
    for (const auto& [dscp, traffic] : wanted) {
        parts.push_back(fmt::format("DSCP {} for {}", dscp, listed(protocols_of(traffic))));
        for (const std::string& level : levels_of(traffic)) {
            levels.push_back(level);
        }
    }
    findings.push_back(
        {.levels = levels,
         .what = fmt::format("the policy has {} on {}", listed(parts), port.rdma.device),
         .why = fmt::format("all of them have the type of service that rdma_cm has as the port's default, which is {}",
                            port.rdma.default_tos.value_or(0)),
         .command = "rdma-qosctl explain --kernel",
         .caution = "one level for all of them, or a NIC for each, can be kept apart"});
}

}    // namespace

void check_kernel_traffic(const Interface& port, Findings& findings)
{
    Wanted wanted;
    for (const KernelTraffic& traffic : port.kernel_traffic) {
        wanted[dscp_of(traffic.traffic_class)].push_back(&traffic);
    }
    if (wanted.size() > 1) {
        tell_of_conflict(port, wanted, findings);
        return;
    }
    const std::uint8_t tos = port.rdma.default_tos.value_or(0);
    if (wanted.empty() || port.rdma.device.empty() || wanted.contains(dscp_of(tos))) {
        return;
    }
    const auto& [dscp, traffic] = *wanted.begin();
    const std::uint8_t priority = dcb::priority_of_dscp(port.settings, dscp_of(tos));
    findings.push_back(
        {.traffic_class = class_of_priority(port, priority),
         .levels = levels_of(traffic),
         .what = fmt::format("connections that the kernel makes on {} for {} get DSCP {}", port.rdma.device,
                             listed(protocols_of(traffic)), dscp_of(tos)),
         .why = fmt::format("{} {} DSCP {}, and nothing but the default of rdma_cm marks these packets",
                            in_words(levels_of(traffic)), levels_of(traffic).size() == 1 ? "has" : "have", dscp),
         .command = command_for_default_tos(port, traffic.front()->traffic_class),
         .caution = "it applies to new connections, and to those of all programs that set none"});
}

}    // namespace rdmaqos::port_lint
