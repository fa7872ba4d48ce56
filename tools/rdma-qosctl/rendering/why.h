// `rdma-qosctl why` as text and as JSON.
#pragma once

#include <string>

#include "lib/base/diagnostic.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/why.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_why(const WhyReport& report, const Screen& screen);

// `rdma-qosctl why` as JSON.
[[nodiscard]] Json why_json(const WhyReport& report);

}    // namespace rdmaqos::ctl
