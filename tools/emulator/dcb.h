// DCB netlink of the emulated ports, as the kernel and mlx5e of Linux 6.1 answer it: IEEE ETS, maximum rates, the
// application table and the DCBX mode of the network interface that a port names. What is set there is what the data
// path schedules by (PortClasses).
//
// The kernel sets the parts of one request one after the other, so what is refused may be half set; and so are parts of
// ETS if the firmware refuses midway (dcb_faults.h). Not here: PFC, buffers, CEE.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tools/emulator/dcb_port.h"
#include "tools/emulator/netlink_message.h"

namespace rdmaqos::emulator {

class Device;

// Gets what the kernel sends to its group RTNLGRP_DCB: after each request that sets something, also one that was
// refused, with the number of the request and no port, and before its answer.
using TellDcb = std::function<void(const NetlinkDatagram&)>;

// RTM_GETDCB and RTM_SETDCB. `content`: what stands behind the header. Empty: there is no answer.
[[nodiscard]] NetlinkDatagram dcb_answer(
    const Request& request, std::span<const std::uint8_t> content, const std::vector<std::shared_ptr<Device>>& devices,
    const TellDcb& tell = [](const NetlinkDatagram&) {});

// As if another program of the host had set all of it.
void set_by_host(Device& device, const PortClasses& classes, const TellDcb& tell);

}    // namespace rdmaqos::emulator
