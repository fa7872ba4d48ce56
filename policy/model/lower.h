// From a policy to what the tree compiler takes: the bridge between the two.
#pragma once

#include <string>
#include <vector>

#include "lib/tree/compile.h"
#include "policy/model/identity.h"
#include "policy/model/policy.h"

namespace rdmaqos {

[[nodiscard]] TreeSpec to_tree_spec(const Policy& policy);

// The path of a level's class: "/tenants/rpc"; empty for a level without `schedule`.
[[nodiscard]] ElementPath class_path(const Policy& policy, const QosLevel& level);

// Who a queue pair of this client counts as in a class that is fair by something: "pid:4711", "uid:1000",
// "unit:job-7.scope" (a process outside any unit: "pid:4711"), "qp:17"; empty for FairBy::None.
[[nodiscard]] std::string principal_segment(FairBy fair_by, const Identity& identity, QueuePairId queue_pair);

}    // namespace rdmaqos
