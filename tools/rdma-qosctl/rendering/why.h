// `rdma-qosctl why` as text.
#pragma once

#include <string>

#include "lib/base/diagnostic.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/why.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_why(const WhyReport& report, const Screen& screen);

}    // namespace rdmaqos::ctl
