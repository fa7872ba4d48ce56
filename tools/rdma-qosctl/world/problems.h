// "Is anything wrong, and what do I do about it?"
#pragma once

#include <string>
#include <vector>

#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// Errors first; empty: nothing is wrong.
[[nodiscard]] std::vector<Problem> find_problems(const World& world);

// Queue pairs that do not get what their level, or SetRate, says. Those of levels that ask for nothing do not count,
// nor those without a level.
struct Unheld {
    std::size_t queue_pairs = 0;
    std::string reason;    // of most of them
    std::size_t of_reason = 0;
};
[[nodiscard]] Unheld find_unenforced(const World& world);

}    // namespace rdmaqos::ctl
