// The tree of one step with a bar for each element.
#pragma once

#include <string>

#include "lib/base/units.h"
#include "tools/rdma-qosctl/simulate/html_text.h"
#include "tools/rdma-qosctl/simulate/simulation.h"

namespace rdmaqos::ctl::page {

[[nodiscard]] std::string tree(const SimulatedStep& step, Bandwidth link_speed, const LevelColours& colours);

}    // namespace rdmaqos::ctl::page
