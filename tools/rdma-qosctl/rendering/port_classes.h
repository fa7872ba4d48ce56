// What packets of each level get on a port: priority, traffic class, weight, cap, lossless or not.
#pragma once

#include <optional>
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
// What the daemon does about them, of an interface: "traffic classes of eth0: set as the policy asks".
[[nodiscard]] std::string keeping_in_words(const std::string& netdev, const api::PortCare& care);
// What is new since then, without a full stop; `before`: empty: it is not known how it was. Empty: nothing but the time
// of the reading.
[[nodiscard]] std::string change_in_words(const std::optional<api::Port>& before, const api::Port& now);
// Adds `port-classes`: what the daemon says, and what each level gets.
void set_port_classes(Json& of_device, const DeviceView& device, const std::vector<api::Level>& levels);

}    // namespace rdmaqos::ctl
