// Which DSCP queue pairs carry, and with which priorities a port sent, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/mark_path.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// A line, and what to do, for each level on each device with queue pairs that do not carry its DSCP; of this device, or
// of all (""). Empty: those that are seen do.
[[nodiscard]] std::string render_wrong_marks(const std::vector<api::MarkCount>& counts, const std::string& device,
                                             const Screen& screen);

[[nodiscard]] std::string render_mark_paths(const std::vector<MarkPath>& paths, const Screen& screen);
[[nodiscard]] Json mark_paths_json(const std::vector<MarkPath>& paths);

// "sent in the last 30 s: 3.9 GB with priority 3 (bulk), ...; 4.1 GB of all that by RDMA"; empty: it is not known.
[[nodiscard]] std::string render_traffic(const DeviceView& device, const std::vector<api::Level>& levels,
                                         const Screen& screen);
// Sets "traffic", unless nothing is known.
void set_traffic(Json& of_device, const DeviceView& device, const std::vector<api::Level>& levels);

}    // namespace rdmaqos::ctl
