// Who gets what over all steps, stacked.
#pragma once

#include <string>

#include "tools/rdma-qosctl/simulate/html_text.h"
#include "tools/rdma-qosctl/simulate/simulation.h"

namespace rdmaqos::ctl::page {

[[nodiscard]] std::string chart(const SimulatedPort& port, const LevelColours& colours);

}    // namespace rdmaqos::ctl::page
