// What differs between the QoS levels of two policies, in words.
#pragma once

#include <vector>

#include "policy/model/policy.h"
#include "policy/model/policy_change.h"

namespace rdmaqos {

// For each level that is new, changed, renamed (`renamed-from`) or removed, in the order of `after`, then those
// removed:
//
//     rpc: sl 3 -> 4, allow everyone -> user alice
//     backup: new (sl 5, share 10, max-rate 20 Gbit/s)
//     fast: renamed from quick (sl 3 -> 4)
//     old: removed
//     bulk: max-rate 25 Gbit/s -> 10 Gbit/s (override of max-rate, until 2026-11-23T22:00:00Z)
//
// Levels made by ulps are left out, and so is what has no effect (`use`, path bits).
[[nodiscard]] std::vector<LevelChange> level_changes(const Policy& before, const Policy& after);

// The one new level that gives what `gone` gave, of which `after` knows nothing: it was probably renamed. Null: there
// is none, or more than one.
[[nodiscard]] const QosLevel* same_under_another_name(const Policy& before, const QosLevel& gone, const Policy& after);

}    // namespace rdmaqos
