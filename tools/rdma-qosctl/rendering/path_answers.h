// `rdma-qosctl query-path` as text, and what `explain` shares with it.
#pragma once

#include <string>
#include <vector>

#include "lib/bus/value.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {

// Who answered, and from what.
[[nodiscard]] std::string render_note(const std::string& note, const Screen& screen);
[[nodiscard]] std::string render_answers(const std::vector<bus::Dict>& answers, const Screen& screen);

}    // namespace rdmaqos::ctl
