// What a reload would do, as text and as JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "lib/base/diagnostic.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// For an administrator to approve: which levels change, per device the tree, who then gets how much when everything is
// busy, the operations, and which sessions move.
[[nodiscard]] std::string render_plans(const PlanReport& report, bool verbose, const Screen& screen);

// A plan as JSON, with the keys that it has on D-Bus.
[[nodiscard]] Json plans_json(const PlanReport& report);

}    // namespace rdmaqos::ctl
