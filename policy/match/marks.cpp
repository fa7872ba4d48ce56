#include "policy/match/marks.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "policy/model/traffic_class.h"

namespace rdmaqos {
namespace {

constexpr std::uint8_t kPriorities = 8;

// The devices of a level by their link layer; `all_known`: there is none whose link layer is not known.
struct Links {
    std::vector<std::string> ethernet;
    std::vector<std::string> infiniband;
    bool all_known = true;
};

Links links_of(const QosLevel& level, std::span<const DeviceNames> devices)
{
    Links links;
    for (const DeviceNames& device : devices) {
        if (!is_selected(level.devices, device)) {
            continue;
        }
        links.all_known = links.all_known && device.link_layer;
        if (device.link_layer) {
            auto& names = *device.link_layer == LinkLayer::Ethernet ? links.ethernet : links.infiniband;
            names.push_back(fmt::format("{}/{}", device.device, device.port));
        }
    }
    return links;
}

// "mlx5_0/1 and 7 more"
std::string some_of(const std::vector<std::string>& names)
{
    return names.size() == 1 ? names.front() : fmt::format("{} and {} more", names.front(), names.size() - 1);
}

}    // namespace

Diagnostics warnings_of_marks(const Policy& policy, std::span<const DeviceNames> devices)
{
    Diagnostics diagnostics;
    for (const QosLevel& level : policy.levels) {
        const Links links = links_of(level, devices);
        if (level.sl && *level.sl >= kPriorities && !links.ethernet.empty()) {
            diagnostics
                .warning(level.location,
                         fmt::format("SL {} of level `{}` is sent as {} by {}: Ethernet has {} priorities", *level.sl,
                                     level.name, *level.sl % kPriorities, some_of(links.ethernet), kPriorities))
                .hint = "give it an `sl` from 0 to 7, or its `devices` without Ethernet";
        }
        if (level.traffic_class && links.all_known && links.ethernet.empty() && !links.infiniband.empty()) {
            diagnostics
                .warning(level.location,
                         fmt::format("traffic class {} (DSCP {}) of level `{}` is sent by no device: {} on InfiniBand, "
                                     "which has none",
                                     *level.traffic_class, dscp_of(*level.traffic_class), level.name,
                                     some_of(links.infiniband) + (links.infiniband.size() == 1 ? " is" : " are")))
                .hint = "on InfiniBand the `sl` of the level tells packets apart";
        }
    }
    return diagnostics;
}

}    // namespace rdmaqos
