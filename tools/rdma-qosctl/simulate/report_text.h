// A simulation as text.
#pragma once

#include <string>

#include "lib/base/diagnostic.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/simulate/simulation.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_simulation(const SimulationReport& report, const Screen& screen);

}    // namespace rdmaqos::ctl
