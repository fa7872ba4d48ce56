// What programs send and receive, for `rdma-qosctl top`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/units.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/program_rates.h"

namespace rdmaqos::ctl {

// A table for each port. `link_speeds`: of ports, by device; one that is not known has no percentages.
[[nodiscard]] std::string render_rates(const std::vector<PortRates>& ports, RatesBy by,
                                       const std::map<std::string, Bandwidth>& link_speeds, const Screen& screen);

}    // namespace rdmaqos::ctl
