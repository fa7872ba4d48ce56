// What differs between the QoS levels of two policies, in words.
#pragma once

#include <string>
#include <vector>

#include "policy/model/policy.h"

namespace rdmaqos {

// A sentence for each level that is new, gone or changed, in the order of `after`, then those gone:
//
//     level rpc: sl 3 -> 4, allow everyone -> user alice
//     level backup: new (sl 5, share 10, max-rate 20 Gbit/s)
//     level old: gone
//
// Levels made by ulps are left out, and so is what has no effect (`use`, path bits).
[[nodiscard]] std::vector<std::string> level_changes(const Policy& before, const Policy& after);

}    // namespace rdmaqos
