// "Is anything wrong, and what do I do about it?"
#pragma once

#include <vector>

#include "tools/rdma-qosctl/views.h"

namespace rdmaqos::ctl {

// Errors first; empty: nothing is wrong.
[[nodiscard]] std::vector<Problem> find_problems(const World& world);

// Queue pairs that are not held to their level although the level is scheduled.
[[nodiscard]] std::size_t count_unenforced(const World& world);

}    // namespace rdmaqos::ctl
