// `rdma-qosctl query-path` as text and as JSON, and what `explain` shares with it.
#pragma once

#include <string>
#include <vector>

#include "lib/api/policy.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/broadcast.h"

namespace rdmaqos::ctl {

// Who answered, and from what.
[[nodiscard]] std::string render_note(const std::string& note, const Screen& screen);
[[nodiscard]] std::string render_answers(const std::vector<api::PathAnswer>& answers, const Screen& screen);

// `rdma-qosctl query-path --broadcast` as text and as JSON.
[[nodiscard]] std::string render_broadcast(const BroadcastReport& report, const Screen& screen);
[[nodiscard]] Json broadcast_json(const BroadcastReport& report);

}    // namespace rdmaqos::ctl
