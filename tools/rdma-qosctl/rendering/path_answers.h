// `rdma-qosctl query-path` as text.
#pragma once

#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/bus/value.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_answers(const std::vector<bus::Dict>& answers, Colour colour);

}    // namespace rdmaqos::ctl
