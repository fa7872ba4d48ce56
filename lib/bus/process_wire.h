// What rdma-qosd and its helper for processes (process_helper.h) say to each other, one packet each way
// (SOCK_SEQPACKET).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rdmaqos::bus {

struct ProcessRequest {
    std::array<char, 256> unique_name{};    // of a sender; a name has at most 255 characters
};

enum class ProcessAnswer : std::uint32_t {
    Given,      // a pidfd comes with the packet
    Missing,    // the bus gives pidfds, but none of this sender
    Unknown,    // the bus gives none
};

// More than a user has; a packet with all of them fits a socket.
constexpr std::size_t kMostGroups = 16'384;

struct ProcessReply {
    ProcessAnswer answer = ProcessAnswer::Missing;
    std::uint32_t uid = 0;
    std::uint32_t groups = 0;    // of `gids`; the packet ends behind the last
    std::array<std::uint32_t, kMostGroups> gids{};

    [[nodiscard]] std::size_t size() const { return offsetof(ProcessReply, gids) + groups * sizeof(std::uint32_t); }
};

}    // namespace rdmaqos::bus
