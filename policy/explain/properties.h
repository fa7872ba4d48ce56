// The properties of a part of a policy in words, alone and compared.
#pragma once

#include <cstddef>
#include <string>

#include "policy/model/policy_property.h"

namespace rdmaqos {

// " (sl 5, share 10)": those that it has; "" if it has none. Values of more than `longest` bytes are shortened.
[[nodiscard]] std::string summary_of(const PolicyProperties& properties, std::size_t longest = std::string::npos);
// "sl 3 -> 4, port-guid differs": those that differ, the latter where both are the same once they are shortened. Both
// have the same keys in the same order.
[[nodiscard]] std::string differences_of(const PolicyProperties& before, const PolicyProperties& after,
                                         std::size_t longest = std::string::npos);

}    // namespace rdmaqos
