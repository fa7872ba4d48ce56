// `rdma-qosctl query-path --broadcast` as text and as JSON.
#pragma once

#include <string>

#include "lib/base/diagnostic.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/broadcast.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_broadcast(const BroadcastReport& report, const Screen& screen);
[[nodiscard]] Json broadcast_json(const BroadcastReport& report);

}    // namespace rdmaqos::ctl
