// The tree as the daemon has it, with the leaves of sessions and more where more senders are asked for.
#pragma once

#include <string>
#include <vector>

#include "lib/bus/value.h"
#include "lib/model/senders.h"
#include "tools/rdma-qosctl/simulate/loaded_tree.h"
#include "tools/rdma-qosctl/simulate/loads.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// As it is: the leaves of sessions are senders, and more are imagined where the step asks for more. `there`: who is in
// them. `levels`: keys of docs/dbus.md, "ListLevels".
[[nodiscard]] LoadedTree load_live_tree(const std::vector<bus::Dict>& levels, const DeviceView& device,
                                        const Senders& there, const LoadStep& step);
// What loads may name, responders included.
[[nodiscard]] std::vector<std::string> level_names(const World& world);

}    // namespace rdmaqos::ctl
