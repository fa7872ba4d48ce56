// `rdma-qosctl status` as text.
#pragma once

#include <string>
#include <vector>

#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_status(const World& world, const std::vector<Problem>& problems, const Screen& screen);

}    // namespace rdmaqos::ctl
