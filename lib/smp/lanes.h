// The virtual lanes (VLs) of an InfiniBand port, as the subnet manager has set them: which service level (SL) is in
// which lane, and how the port divides its link among lanes.
//
//     SL ──(SL to VL)──▶ VL ──(arbitration)──▶ the link
//
// The port serves its table of high priority first, as long as its limit lets it, and then that of low priority; in a
// table, one entry after the other, each until its weight is used up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "lib/base/result.h"
#include "lib/smp/packet.h"

namespace rdmaqos::smp {

inline constexpr std::size_t kServiceLevels = 16;
inline constexpr std::uint8_t kNoLane = 15;    // an SL in VL 15 has none: its packets are dropped

struct Turn {
    std::uint8_t vl = 0;
    std::uint8_t weight = 0;    // in units of 64 bytes

    friend bool operator==(const Turn&, const Turn&) = default;
};

struct PortLanes {
    std::uint8_t data_vls = 1;      // in operation: 1, 2, 4, 8 or 15
    std::uint8_t high_limit = 0;    // in units of 4 KiB; 0: one packet, 255: no limit
    std::vector<Turn> high;         // entries with a weight, in their order
    std::vector<Turn> low;
    std::array<std::uint8_t, kServiceLevels> vl_of_sl{};    // all 0 with one VL

    friend bool operator==(const PortLanes&, const PortLanes&) = default;
};

// Sends a packet to the port, and waits for what it answers.
using Exchange = std::function<Result<Packet>(const Packet&)>;

[[nodiscard]] Result<PortLanes> read_lanes(const Exchange& exchange);

}    // namespace rdmaqos::smp
