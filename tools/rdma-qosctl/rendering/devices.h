// Devices and their trees as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/tree/capabilities.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/busy_rates.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_devices(const std::vector<DeviceView>& devices, Colour colour);
[[nodiscard]] std::string render_device(const DeviceView& device, Colour colour);
[[nodiscard]] std::string describe_scheduling(const Capabilities& capabilities);
[[nodiscard]] std::string describe_attachable(const Capabilities& capabilities);
[[nodiscard]] std::string describe_pacing(const PacingCapabilities& pacing);
// `busy` null: without its column. Of a class with many principals `principals_shown` are drawn; 0: all.
[[nodiscard]] std::string render_device_tree(const DeviceView& device, const BusyRates* busy,
                                             std::size_t principals_shown, Colour colour);
// Of a device or a session.
[[nodiscard]] Style style_of_state(std::string_view state);

}    // namespace rdmaqos::ctl
