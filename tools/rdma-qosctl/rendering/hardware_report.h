// A hardware report as text.
#pragma once

#include <string>

#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/hardware_report.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_hardware_report(const HardwareReport& report, const Screen& screen);

}    // namespace rdmaqos::ctl
