// What the library needs of libibverbs, except for domains (domain.cpp).
#pragma once

#include <cstdint>

#include "lib/client/answer.h"
#include "lib/client/failure.h"
#include "lib/client/rdmaqos.h"

struct ibv_device;

namespace rdmaqos::client {

[[nodiscard]] Failure describe(ibv_qp* queue_pair, rdmaqos_queue_pair& into);

// Applies the SL and the traffic class as far as the link layer and the level allow; the bits of rdmaqos_apply_ah().
[[nodiscard]] int mark(const rdmaqos_answer& answer, std::uint8_t link_layer, ibv_ah_attr& attributes);
// Whether libmlx5 drives it, whatever its name is.
[[nodiscard]] bool is_mlx5(ibv_device* device);
// Whether small messages go to the device in its doorbell register (BlueFlame), without being read from memory.
[[nodiscard]] bool writes_through_doorbell(ibv_qp& queue_pair);
[[nodiscard]] Failure link_layer_of(ibv_qp& queue_pair, std::uint8_t port, std::uint8_t& link_layer);

}    // namespace rdmaqos::client
