// Which DSCP the packets of a level's queue pairs carry, against the level's own: by it a port puts them into a traffic
// class.
//
// A queue pair with a peer has it in its context, where the firmware tells it, whoever has set it. A datagram queue
// pair has none of its own, since each message carries what its address says, and of those that nobody named to the
// daemon nothing is known: what they send is only seen in the port's counters by priority.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace rdmaqos {

// Why it is not known of a queue pair; docs/dbus.md, "Unseen marks".
inline constexpr std::string_view kMarkOfEachMessage = "datagram";
inline constexpr std::string_view kMarkOfProgram = "raw-packet";    // it makes the headers of its packets
inline constexpr std::string_view kMarkNotSetYet = "not-connected";
inline constexpr std::string_view kMarkOfDevx = "devx";         // not connected, or of a kind without a peer
inline constexpr std::string_view kMarkNotRead = "not-read";    // the device has not answered yet
inline constexpr std::string_view kMarkNotTold = "not-told";    // the device or the kernel refuses to say

struct LevelMarks {
    std::uint8_t dscp = 0;                               // the level's
    std::map<std::uint8_t, std::uint64_t> carried;       // queue pairs, by the DSCP in their packets
    std::map<std::string_view, std::uint64_t> unseen;    // by why it is not known

    [[nodiscard]] std::uint64_t right() const
    {
        const auto found = carried.find(dscp);
        return found == carried.end() ? 0 : found->second;
    }
    [[nodiscard]] std::uint64_t wrong() const
    {
        std::uint64_t sum = 0;
        for (const auto& [other, count] : carried) {
            sum += other == dscp ? 0 : count;
        }
        return sum;
    }
    [[nodiscard]] std::uint64_t not_seen() const
    {
        std::uint64_t sum = 0;
        for (const auto& [why, count] : unseen) {
            sum += count;
        }
        return sum;
    }

    friend bool operator==(const LevelMarks&, const LevelMarks&) = default;
};

using DscpOfLevels = std::map<std::string, std::uint8_t>;    // of levels that have one
using DeviceMarks = std::map<std::string, LevelMarks>;       // by level, of those that have a DSCP and queue pairs
using HostMarks = std::map<std::string, DeviceMarks>;        // by the key of the device

}    // namespace rdmaqos
