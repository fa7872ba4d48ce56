// What a reload would do, as text.
#pragma once

#include <string>

#include "lib/base/diagnostic.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// For an administrator to approve: which levels change, per device the tree, who then gets how much when everything is
// busy, the operations, and which sessions move.
[[nodiscard]] std::string render_plans(const PlanReport& report, bool verbose, const Screen& screen);

}    // namespace rdmaqos::ctl
