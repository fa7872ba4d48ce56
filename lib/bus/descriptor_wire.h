// What rdma-qosd and its descriptor helper say to each other, one packet each way (SOCK_SEQPACKET), and how descriptors go
// with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sys/socket.h>

#include "lib/base/file.h"

namespace rdmaqos::bus {

constexpr std::size_t kMostDescriptors = 253;    // SCM_MAX_FD, which D-Bus programs keep to
constexpr std::size_t kMostChunk = 65536;

// Room for the descriptors of one message.
struct DescriptorRoom {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMostDescriptors)> bytes;

    // For a message that is to be sent with these descriptors, at most kMostDescriptors; none: nothing is added.
    void put(msghdr& message, std::span<const int> descriptors);
    // For a message that is to be received.
    void offer(msghdr& message);
};
// Those that came with a message.
[[nodiscard]] std::vector<UniqueFd> take_descriptors(msghdr& message);
// Whether descriptors may be among what a unix socket has received and nobody has read. False is certain, for what had
// arrived when it was asked.
[[nodiscard]] bool may_hold_descriptors(int socket);

// With the client's socket as the packet's only descriptor.
struct DescriptorRequest {
    std::uint32_t bytes = 0;         // read at most these
    std::uint32_t text_bytes = 0;    // of a policy text
    std::uint32_t uid = 0;           // whose socket it is: the helper becomes that user
    std::uint32_t gid = 0;
};

enum class DescriptorKind : std::uint8_t { Refused, Verbs, Text };

// Followed by the name of the text (`name_bytes`) and by what was read (`bytes`); with the accepted descriptors, in order.
struct DescriptorReply {
    std::int32_t error = 0;    // errno of the read
    std::uint32_t bytes = 0;
    std::uint32_t name_bytes = 0;
    std::uint32_t count = 0;
    std::array<DescriptorKind, kMostDescriptors> kinds{};
    std::array<std::uint8_t, kMostDescriptors> refusals{};    // index into kRefusals
};

// Why a descriptor was not passed on, as the end of "the descriptor ".
constexpr std::array<const char*, 6> kRefusals{
    "is neither an open verbs device nor a regular file",
    "is a file on a file system that rdma-qosd does not read from; copy it to a local disk, or to a memfd",
    "is a file that is too large",
    "is a second text: one is read of each message",
    "is a file that cannot be read",
    "is a directory",
};

}    // namespace rdmaqos::bus
