// What a subnet manager has set in a port of an InfiniBand device, against what `export opensm` asks it for. Pure.
#pragma once

#include <string>
#include <vector>

#include "lib/smp/lanes.h"
#include "tools/rdma-qosctl/offline/opensm_qos.h"

namespace rdmaqos::ctl {

// Sentences without a full stop; none: the port divides its link as the policy asks.
[[nodiscard]] std::vector<std::string> differences(const OpensmQos& wanted, const smp::PortLanes& port);

}    // namespace rdmaqos::ctl
