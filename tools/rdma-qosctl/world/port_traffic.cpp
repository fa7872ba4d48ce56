#include "tools/rdma-qosctl/world/port_traffic.h"

#include <fmt/format.h>

#include "tools/rdma-qosctl/world/port_levels.h"

namespace rdmaqos::ctl {

std::optional<port_bytes::ByteCheck> check_traffic(const DeviceView& device, const std::vector<api::Level>& levels)
{
    const auto moved = api::moved_lately(device.traffic);
    const auto of_port = port_levels(device, levels);
    if (!moved || of_port.empty()) {
        return std::nullopt;
    }
    std::vector<port_bytes::MeantPriority> meant;
    for (const PortLevel& each : of_port) {
        if (!each.level.empty()) {
            meant.push_back({each.level, each.priority});
        }
    }
    const std::uint8_t without_mark = of_port.back().priority;
    for (const auto& level : levels) {
        if (!level.traffic_class && level.queue_pairs > 0) {
            meant.push_back({level.name, without_mark});
        }
    }
    return port_bytes::check_bytes(*moved, meant);
}

std::string why_not_checked(const DeviceView& device, const std::vector<api::Level>& levels)
{
    const bool is_counted = device.traffic.priorities.empty() || device.traffic.rdma_sent;
    if (is_counted || port_levels(device, levels).empty()) {
        return "";
    }
    return fmt::format("whether RDMA sends with the priorities of the levels is not checked: the driver {} does not "
                       "count what RDMA sends",
                       device.port_classes.driver);
}

std::string interval_in_words(const api::PortTraffic& traffic)
{
    constexpr std::uint64_t kSecond = 1'000'000;
    return fmt::format("in the last {} s", (traffic.interval.value_or(0) + kSecond / 2) / kSecond);
}

}    // namespace rdmaqos::ctl
