// How a table of VL arbitration divides a link, and the table that divides it by shares. Pure.
//
// A port goes through the entries of a table one after the other. In its turn a lane sends whole packets until the
// weight of the entry is used up. A weight is at most 255, which is hardly 16 KiB: whoever should send more than that
// while another sends one packet has several entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/smp/lanes.h"

namespace rdmaqos::ctl {

inline constexpr std::uint32_t kLargestPacket = 4096;    // bytes

// How turns divide a link among lanes that are all backlogged, with packets of so many bytes: in percent, by VL.
[[nodiscard]] std::map<std::uint8_t, double> parts_of(const std::vector<smp::Turn>& turns, std::uint32_t packet_bytes);

// What a lane should get of those in the same table.
struct LaneShare {
    std::uint8_t vl = 0;
    std::uint32_t share = 1;    // at least 1
};

// The turns of at most so many entries that come nearest to the shares, by the lane that is furthest off. Every turn is
// of whole packets of 4 KiB, so that the parts are the same whatever the packets' sizes. At least one for each lane,
// even if there are more lanes than entries.
//
// They are in rounds: a port whose table is shorter leaves out the last ones, and no lane as long as it has an entry
// for each.
[[nodiscard]] std::vector<smp::Turn> turns_for(const std::vector<LaneShare>& lanes, std::size_t entries);

// "1:70,2:30", "none"
[[nodiscard]] std::string in_words(const std::vector<smp::Turn>& turns);

}    // namespace rdmaqos::ctl
