// What a QoS level says, option by option: for comparisons and explanations.
#pragma once

#include "policy/model/policy.h"
#include "policy/model/policy_property.h"

namespace rdmaqos::keys {

// All that has an effect, in the order of the rows: for two levels, the same keys.
[[nodiscard]] PolicyProperties properties_of(const Policy& policy, const QosLevel& level);

}    // namespace rdmaqos::keys
