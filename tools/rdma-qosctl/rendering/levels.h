// `rdma-qosctl levels` as text.
#pragma once

#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/bus/value.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_levels(const std::vector<bus::Dict>& levels, Colour colour);

}    // namespace rdmaqos::ctl
