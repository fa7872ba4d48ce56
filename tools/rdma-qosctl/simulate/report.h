// A simulation as text and as JSON.
#pragma once

#include <string>

#include "lib/base/diagnostic.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/simulate/simulation.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_simulation(const SimulationReport& report, const Screen& screen);

// A simulation as JSON.
[[nodiscard]] Json simulation_json(const SimulationReport& report);

}    // namespace rdmaqos::ctl
