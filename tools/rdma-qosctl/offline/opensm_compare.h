// What a subnet manager has set in a port of an InfiniBand device, against what `export opensm` asks it for. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/smp/lanes.h"
#include "tools/rdma-qosctl/offline/opensm_qos.h"

namespace rdmaqos::ctl {

// How turns divide a link among lanes that are all backlogged, with packets of so many bytes: in percent, by VL.
[[nodiscard]] std::map<std::uint8_t, double> parts_of(const std::vector<smp::Turn>& turns, std::uint32_t packet_bytes);

// Sentences without a full stop; none: the port divides its link as the policy asks.
[[nodiscard]] std::vector<std::string> differences(const OpensmQos& wanted, const smp::PortLanes& port);

// "1:70,2:30", "none"
[[nodiscard]] std::string in_words(const std::vector<smp::Turn>& turns);

}    // namespace rdmaqos::ctl
