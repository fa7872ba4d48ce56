// A completion as libmlx5 reads it from a program's memory: 64 bytes, of which the last says whose it is. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <infiniband/mlx5dv.h>

namespace rdmaqos::emulator {

using CompletionBytes = std::array<std::uint8_t, sizeof(mlx5_cqe64)>;

struct Completion {
    // MLX5_CQE_REQ, MLX5_CQE_RESP_SEND, ...
    std::uint8_t kind = MLX5_CQE_REQ;
    // MLX5_CQE_SYNDROME_...; of MLX5_CQE_REQ_ERR and MLX5_CQE_RESP_ERR.
    std::uint8_t syndrome = 0;
    std::uint32_t user_index = 0;    // by which the library finds the queue pair
    std::uint32_t queue_pair = 0;
    std::uint32_t source = 0;    // of a datagram: who has sent it
    bool has_route = false;      // of a datagram: there is a global routing header before the data
    std::uint8_t opcode = 0;     // of the work request
    std::uint16_t index = 0;     // of it in its queue
    std::uint32_t bytes = 0;
    std::uint32_t immediate = 0;    // as it stood in the work request
    bool is_solicited = false;
};

// `round`: how often the queue has been gone through; its lowest bit tells new completions from old ones. `time`: of
// the device's clock.
[[nodiscard]] CompletionBytes encode(const Completion& completion, std::uint32_t round, std::uint64_t time);

}    // namespace rdmaqos::emulator
