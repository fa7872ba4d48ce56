// The queue pairs of the whole host as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "lib/bus/value.h"
#include "tools/rdma-qosctl/output/context.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/world/host.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_host_queue_pairs(const std::vector<bus::Dict>& queue_pairs, const Screen& screen);
[[nodiscard]] Json host_queue_pairs_json(const std::vector<bus::Dict>& queue_pairs);

// "12 queue pairs in a leaf; 40 in none (38 unregistered, 2 not-attached); 6 of the kernel"
[[nodiscard]] std::string describe_host(const HostSummary& summary);

}    // namespace rdmaqos::ctl
