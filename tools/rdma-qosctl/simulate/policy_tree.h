// The tree that a reload with a policy would make, with a leaf for each sender.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/model/policy.h"
#include "tools/rdma-qosctl/offline/targets.h"
#include "tools/rdma-qosctl/simulate/loaded_tree.h"
#include "tools/rdma-qosctl/simulate/loads.h"

namespace rdmaqos::ctl {

// As a reload with this policy would make it, with one leaf for each sender as far as the device has leaves.
[[nodiscard]] LoadedTree load_policy_tree(const Policy& policy, const Target& target, std::uint32_t leaf_reserve,
                                          const LoadStep& step);
// What loads may name, responders included.
[[nodiscard]] std::vector<std::string> level_names(const Policy& policy);

}    // namespace rdmaqos::ctl
