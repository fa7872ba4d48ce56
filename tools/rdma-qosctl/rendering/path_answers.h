// `rdma-qosctl query-path` as text.
#pragma once

#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/bus/value.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_answers(const std::vector<bus::Dict>& answers, const Screen& screen);

}    // namespace rdmaqos::ctl
