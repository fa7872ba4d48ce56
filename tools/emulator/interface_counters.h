// The counters of an emulated port's network interface as mlx5e names them (`ethtool -S`), as far as anybody needs
// them: bytes by priority, and those of RDMA. Nothing but RDMA goes through an emulated port, so their sums are the
// same; headers do not count.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tools/emulator/datapath/traffic.h"
#include "tools/emulator/netlink_message.h"
#include "tools/emulator/protocol.h"

namespace rdmaqos::emulator {

class Device;

[[nodiscard]] std::vector<InterfaceCounter> interface_counters(const PortTraffic& traffic);

// kInterfaceCounters. `name`: of the interface, perhaps with zeros at its end.
[[nodiscard]] NetlinkDatagram interface_answer(const Request& request, std::span<const std::uint8_t> name,
                                               const std::vector<std::shared_ptr<Device>>& devices);

}    // namespace rdmaqos::emulator
