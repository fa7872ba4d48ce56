// From a policy to what the traffic classes of a port are planned from.
#pragma once

#include "lib/base/units.h"
#include "lib/tree/class_requests.h"
#include "policy/model/device_selector.h"
#include "policy/model/policy.h"

namespace rdmaqos {

// Whether `strict` is set of the level or the scheduling-node that is this child of the root.
[[nodiscard]] bool is_strict(const Policy& policy, const ElementPath& child);

// The children of the root that this device has, each with the DSCPs of its levels. Levels that are only monitored have
// no class; they are `elsewhere`, as those without `schedule` and those for other devices, since their packets carry
// their DSCP nevertheless. Parts of the link become rates.
[[nodiscard]] port_classes::Requests port_class_requests(const Policy& policy, const DeviceNames& device,
                                                         Bandwidth link_speed);

}    // namespace rdmaqos
