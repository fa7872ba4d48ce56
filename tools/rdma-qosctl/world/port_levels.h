// What the traffic classes of a device's port are to the levels of the policy: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/api/policy.h"
#include "lib/dcb/port_settings.h"
#include "lib/port_lint/values.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// What packets of a level get on a port.
struct PortLevel {
    std::string level;    // empty: packets of no level; with DSCP 0 those of all programs that set none
    std::uint8_t dscp = 0;
    std::uint8_t priority = 0;
    std::uint8_t traffic_class = 0;
    std::optional<dcb::TrafficClass> scheduling;    // empty: the driver has no ETS
    std::optional<bool> lossless;                   // empty: the driver has no PFC
};

// Of the levels that have a DSCP and are meant for this device, in their order; then of what has none. Empty: no level
// has one, or the traffic classes of the port are not known.
[[nodiscard]] std::vector<PortLevel> port_levels(const DeviceView& device, const std::vector<api::Level>& levels);

// The same of congestion notifications; empty: their DSCP is not known, or the traffic classes are not.
[[nodiscard]] std::optional<PortLevel> port_level_of_notifications(const DeviceView& device);

// Those for other devices have no class in the tree of this one.
[[nodiscard]] bool is_meant_for(const api::Level& level, const DeviceView& device);

// "70 %", "strict", "70 %, at most 40 Gbit/s"; "-": not known
[[nodiscard]] std::string in_words(const std::optional<dcb::TrafficClass>& scheduling);

// Whether the daemon sets the traffic classes of its port, and sets them again where others do.
[[nodiscard]] bool has_kept_classes(const DeviceView& device);

// Whether the port, as it was read, has packets in two traffic classes at least, between which it divides the link by
// weights or strict priority, no matter who set them.
[[nodiscard]] bool has_classes_in_use(const DeviceView& device);

// What the daemon alone knows of a port that was read without it: whether it keeps the classes, and whether one tree
// divides it. Nothing where the daemon does not have the device.
void take_from_daemon(port_lint::Interface& port, const std::vector<DeviceView>& devices);

// For lib/port_lint; without what only the host's files say of RDMA. Empty: the traffic classes are not known.
[[nodiscard]] std::optional<port_lint::Interface> interface_of(const DeviceView& device,
                                                               const std::vector<api::Level>& levels);

}    // namespace rdmaqos::ctl
