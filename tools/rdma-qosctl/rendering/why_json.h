// `rdma-qosctl why` as JSON.
#pragma once

#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/world/why.h"

namespace rdmaqos::ctl {

[[nodiscard]] Json why_json(const WhyReport& report);

}    // namespace rdmaqos::ctl
