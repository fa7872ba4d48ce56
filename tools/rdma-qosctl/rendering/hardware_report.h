// A hardware report as text.
#pragma once

#include <string>

#include "lib/base/diagnostic.h"
#include "tools/rdma-qosctl/world/hardware_report.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_hardware_report(const HardwareReport& report, Colour colour);

}    // namespace rdmaqos::ctl
