// Whether the traffic of a device's port has the priorities of the policy's levels: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/api/policy.h"
#include "lib/port_bytes/port_bytes.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// What was sent in the daemon's last interval, by the levels' priorities: of those that have a DSCP, and of those
// without one that have queue pairs, whose packets mostly carry DSCP 0. Empty: nothing is known of the traffic or of
// the traffic classes, or no level has a DSCP.
[[nodiscard]] std::optional<port_bytes::ByteCheck> check_traffic(const DeviceView& device,
                                                                 const std::vector<api::Level>& levels);

// Why it cannot be checked with what this driver counts; empty: it can, or there is nothing to check.
[[nodiscard]] std::string why_not_checked(const DeviceView& device, const std::vector<api::Level>& levels);

// "in the last 30 s"
[[nodiscard]] std::string interval_in_words(const api::PortTraffic& traffic);

}    // namespace rdmaqos::ctl
