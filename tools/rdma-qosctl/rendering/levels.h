// `rdma-qosctl levels` as text.
#pragma once

#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/bus/value.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_levels(const std::vector<bus::Dict>& levels, const Screen& screen);

}    // namespace rdmaqos::ctl
