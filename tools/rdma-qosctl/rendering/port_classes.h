// What packets of each level get on a port: priority, traffic class, weight, cap, lossless or not.
#pragma once

#include <string>
#include <vector>

#include "lib/api/policy.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// Empty: the port has no traffic classes, or they are not read.
[[nodiscard]] std::string render_port_classes(const DeviceView& device, const std::vector<api::Level>& levels,
                                              const Screen& screen);
// Adds `port-classes`: what the daemon says, and what each level gets.
void set_port_classes(Json& of_device, const DeviceView& device, const std::vector<api::Level>& levels);

}    // namespace rdmaqos::ctl
