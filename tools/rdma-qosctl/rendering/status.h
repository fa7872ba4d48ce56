// `rdma-qosctl status` as text.
#pragma once

#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_status(const World& world, const std::vector<Problem>& problems, Colour colour);

}    // namespace rdmaqos::ctl
