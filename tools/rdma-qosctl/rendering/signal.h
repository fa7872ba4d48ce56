// What `rdma-qosctl monitor` prints of a signal.
#pragma once

#include <string>

#include "lib/bus/client.h"
#include "tools/rdma-qosctl/output/json.h"

namespace rdmaqos::ctl {

// One line, without a time: "drift repaired on mlx5_0/1: 2 elements".
[[nodiscard]] std::string render_signal(const bus::Signal& signal);
[[nodiscard]] Json signal_json(const bus::Signal& signal, const std::string& time);

}    // namespace rdmaqos::ctl
