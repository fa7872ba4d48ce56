// What has become of devices that were told to do something, as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/bus/value.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_reconciled(const std::vector<bus::Dict>& results, const Screen& screen);
// `done`: what has become of each device, "disabled".
[[nodiscard]] std::string render_switched(const std::vector<bus::Dict>& results, std::string_view done,
                                          const Screen& screen);
[[nodiscard]] std::string render_drift(const std::vector<bus::Dict>& drifts, const Screen& screen);

}    // namespace rdmaqos::ctl
