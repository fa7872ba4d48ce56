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

// The first two are answered by an errno (std::int32_t), the last by a HelperDevx. The helper ends when the socket
// closes.
enum class HelperRequest : std::uint32_t { ReadyToReceive = 1, ReadyToSend = 2, MakeDevx = 3 };

// A queue pair in INIT that the helper has made by DEVX, or how that failed.
struct HelperDevx {
    std::int32_t error = 0;    // errno
    std::uint32_t status = 0;
    std::uint32_t syndrome = 0;
    std::uint32_t handle = 0;
    std::uint32_t number = 0;
};

}    // namespace rdmaqos::mlx5
