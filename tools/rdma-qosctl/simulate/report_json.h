// A simulation as JSON.
#pragma once

#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/simulate/simulation.h"

namespace rdmaqos::ctl {

[[nodiscard]] Json simulation_json(const SimulationReport& report);

}    // namespace rdmaqos::ctl
