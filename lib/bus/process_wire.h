// What rdma-qosd and its helper for processes (process_helper.h) say to each other, one packet each way
// (SOCK_SEQPACKET).
#pragma once

#include <array>
#include <cstdint>

namespace rdmaqos::bus {

struct ProcessRequest {
    std::array<char, 256> unique_name{};    // of a sender; a name has at most 255 characters
};

enum class ProcessAnswer : std::uint8_t {
    Given,      // a pidfd comes with the packet
    Missing,    // the bus gives pidfds, but none of this sender
    Unknown,    // the bus gives none
};

struct ProcessReply {
    ProcessAnswer answer = ProcessAnswer::Missing;
};

}    // namespace rdmaqos::bus
