// What rdma-qosd and its descriptor helper say to each other, one packet each way (SOCK_SEQPACKET).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/descriptor_message.h"

namespace rdmaqos::bus {

constexpr std::size_t kMostChunk = 65536;

// With the client's socket as the packet's only descriptor.
struct DescriptorRequest {
    std::uint32_t bytes = 0;         // read at most these
    std::uint32_t text_bytes = 0;    // of a policy text
    std::uint32_t uid = 0;           // whose socket it is: the helper becomes that user
    std::uint32_t gid = 0;
};

enum class DescriptorKind : std::uint8_t { Refused, Verbs, Text };

// Followed by the name of the text (`name_bytes`) and by what was read (`bytes`); with the accepted descriptors, in
// order.
struct DescriptorReply {
    std::int32_t error = 0;    // errno of the read
    std::uint32_t bytes = 0;
    std::uint32_t name_bytes = 0;
    std::uint32_t count = 0;
    std::int32_t sender = 0;    // of the bytes, if the client's socket has SO_PASSCRED
    std::array<DescriptorKind, kMostDescriptors> kinds{};
    std::array<std::uint8_t, kMostDescriptors> refusals{};    // index into kRefusals
};

// Why a descriptor was not passed on, as the end of "the descriptor ".
constexpr std::array<const char*, 6> kRefusals{
    "is neither an open verbs device nor a regular file",
    "is on a file system that rdma-qosd does not read from; copy it to a local disk, or to a memfd",
    "is a file that is too large",
    "is a second text: only one of each message is read",
    "is a file that cannot be read",
    "is a directory",
};

}    // namespace rdmaqos::bus
