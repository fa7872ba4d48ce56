// What DCB (IEEE 802.1Qaz) of an emulated port is set to, and how mlx5e takes a change of it (dcb.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "lib/model/port_classes.h"

namespace rdmaqos::emulator {

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

// As the driver leaves it when it comes, at first and again after a reset: all classes alike, priority 0 in class 1 and
// 1 in class 0.
[[nodiscard]] DcbPort first_dcb_port();
[[nodiscard]] DcbPort dcb_port_of(const PortClasses& classes);
[[nodiscard]] PortClasses classes_of(const DcbPort& port);

// Changes of one port; each gives 0, or the errno of the driver.
[[nodiscard]] int set_ets(DcbPort& port, std::span<const std::uint8_t> attribute);
// What is there if the firmware refuses ETS midway: the first half of the priorities have their classes.
void set_half_of_ets(DcbPort& port, std::span<const std::uint8_t> attribute);
[[nodiscard]] int set_max_rates(DcbPort& port, std::span<const std::uint8_t> attribute);
[[nodiscard]] int set_app(DcbPort& port, std::span<const std::uint8_t> attribute);
[[nodiscard]] int delete_app(DcbPort& port, std::span<const std::uint8_t> attribute);

}    // namespace rdmaqos::emulator
