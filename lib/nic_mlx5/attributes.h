// What a device says of itself through ibv_query_device_ex(3), for people: every field of the answer by its name in the
// manual, its value in words, and what it means for quality of service.
//
// Pure, and not bound to one vendor. What decides anything is in Capabilities, not here. Bits that the verbs header
// does not name are kept as numbers, so that newer devices lose nothing.
#pragma once

#include <vector>

#include <infiniband/verbs.h>

#include "lib/nic/backend.h"

namespace rdmaqos::mlx5 {

// In the order of the structure. Names: "orig_attr.max_qp", "odp_caps.per_transport_caps.rc_odp_caps". What is zero is
// "unsupported" where the field counts or measures something that a device may lack.
[[nodiscard]] std::vector<DeviceAttribute> describe(const ibv_device_attr_ex& attr);

}    // namespace rdmaqos::mlx5
