// What the self-test and its helper say to each other, over a SOCK_SEQPACKET pair. Both are the same program.
#pragma once

#include <cstdint>

namespace rdmaqos::mlx5 {

// Helper, once: with its uverbs descriptor (SCM_RIGHTS) unless `error`.
struct HelperHello {
    std::int32_t error = 0;    // errno
    std::uint32_t handle = 0;
    std::uint32_t number = 0;
};

// Answered by an errno (std::int32_t). The helper ends when the socket closes.
enum class HelperRequest : std::uint32_t { ReadyToSend = 1 };

}    // namespace rdmaqos::mlx5
