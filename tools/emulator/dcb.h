// DCB netlink of the emulated ports, as the kernel and mlx5e of Linux 6.1 answer it: IEEE ETS, maximum rates, the
// application table and the DCBX mode of the network interface that a port names. What is set there is what the data
// path schedules by (PortClasses).
//
// The kernel sets the parts of one request one after the other, and mlx5e the parts of ETS, so what is refused may be
// half set. Not here: PFC, buffers, CEE, notifications.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tools/emulator/dcb_port.h"
#include "tools/emulator/netlink_message.h"

namespace rdmaqos::emulator {

class Device;

// RTM_GETDCB and RTM_SETDCB. `content`: what stands behind the header.
[[nodiscard]] NetlinkDatagram dcb_answer(const Request& request, std::span<const std::uint8_t> content,
                                         const std::vector<std::shared_ptr<Device>>& devices);

}    // namespace rdmaqos::emulator
