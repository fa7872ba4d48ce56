// DCB netlink of the emulated ports, as the kernel and mlx5e of Linux 6.1 answer it: IEEE ETS, maximum rates, the
// application table and the DCBX mode of the network interface that a port names. What is set there is what the data
// path schedules by (PortClasses).
//
// The kernel sets the parts of one request one after the other, and mlx5e the parts of ETS, so what is refused may be
// half set. Not here: PFC, buffers, CEE, notifications.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lib/model/port_classes.h"
#include "tools/emulator/netlink_message.h"

namespace rdmaqos::emulator {

class Device;

struct DcbPort {
    std::array<std::uint8_t, kPortClasses> selection{};    // IEEE_8021QAZ_TSA_*
    std::array<std::uint8_t, kPortClasses> weight{};
    std::array<std::uint8_t, kPortPriorities> class_of_priority{};
    std::array<std::uint64_t, kPortClasses> max_kbps{};     // 0: none
    std::array<std::uint8_t, kDscps> priority_of_dscp{};    // what the NIC has
    std::array<bool, kDscps> is_in_table{};                 // what the kernel has of it
    bool trusts_dscp = false;
    std::uint8_t mode = 0;    // DCB_CAP_DCBX_*

    friend bool operator==(const DcbPort&, const DcbPort&) = default;
};

// As the driver leaves it when it comes: all classes alike, priority 0 in class 1 and 1 in class 0.
[[nodiscard]] DcbPort first_dcb_port();
[[nodiscard]] DcbPort dcb_port_of(const PortClasses& classes);
[[nodiscard]] PortClasses classes_of(const DcbPort& port);

// Changes of one port; each gives 0, or the errno of the driver.
[[nodiscard]] int set_ets(DcbPort& port, std::span<const std::uint8_t> attribute);
[[nodiscard]] int set_max_rates(DcbPort& port, std::span<const std::uint8_t> attribute);
[[nodiscard]] int set_app(DcbPort& port, std::span<const std::uint8_t> attribute);
[[nodiscard]] int delete_app(DcbPort& port, std::span<const std::uint8_t> attribute);

// RTM_GETDCB and RTM_SETDCB. `content`: what stands behind the header.
[[nodiscard]] Datagram dcb_answer(const Request& request, std::span<const std::uint8_t> content,
                                  const std::vector<std::shared_ptr<Device>>& devices);

}    // namespace rdmaqos::emulator
