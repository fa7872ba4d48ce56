// A plan as JSON, with the keys that it has on D-Bus.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

[[nodiscard]] Json plans_json(const PlanReport& report);

}    // namespace rdmaqos::ctl
