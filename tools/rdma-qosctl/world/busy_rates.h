// What each leaf gets when every leaf that holds queue pairs sends as much as it can. In attach mode per-process this
// assumes that the port serves the processes' trees in equal parts.
#pragma once

#include <map>
#include <string>

#include "lib/base/units.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

using BusyRates = std::map<std::string, Bandwidth>;    // by path
[[nodiscard]] BusyRates busy_rates(const World& world, const DeviceView& device);

}    // namespace rdmaqos::ctl
