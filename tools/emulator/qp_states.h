// Which attributes a change of a queue pair's state must and may carry: the tables of the InfiniBand specification
// (11.2.5.2, Modify Queue Pair), as the kernel applies them before the device is asked.
#pragma once

#include <cstdint>

#include "lib/tree/capabilities.h"

namespace rdmaqos::emulator {

// May `mask` (enum ibv_qp_attr_mask) take a queue pair of `type` from one state to the other? `rate_limit`: the device
// paces queue pairs of this type.
[[nodiscard]] bool transition_is_allowed(QueuePairType type, QueuePairState from, QueuePairState to, std::uint32_t mask,
                                         bool rate_limit);

}    // namespace rdmaqos::emulator
