// A simulation as one HTML page that needs nothing else: no script, no font, no image, no network. Well-formed XML as
// well. Every name is escaped.
#pragma once

#include <string>

#include "tools/rdma-qosctl/simulate/simulation.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string simulation_page(const SimulationReport& report);

}    // namespace rdmaqos::ctl
