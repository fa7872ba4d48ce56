// Devices, their attributes and their trees as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/tree/capabilities.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/busy_rates.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// All of them, those that are not managed included.
[[nodiscard]] std::string render_devices(const World& world, const Screen& screen);
// Known to the daemon, managed or not.
[[nodiscard]] bool has_any_device(const World& world);
[[nodiscard]] std::string render_device(const DeviceView& device, const Screen& screen,
                                        const std::vector<api::Level>& levels = {});
[[nodiscard]] std::string describe_scheduling(const Capabilities& capabilities);
[[nodiscard]] std::string describe_attachable(const Capabilities& capabilities);
[[nodiscard]] std::string describe_pacing(const PacingCapabilities& pacing);
struct DeviceTree {
    const DeviceView* device;
    const BusyRates* busy;    // null: without what each leaf gets
};
// Devices whose trees look the same are drawn once. Of a class with many principals `principals_shown` are drawn; 0:
// all.
[[nodiscard]] std::string render_device_trees(const std::vector<DeviceTree>& trees, std::size_t principals_shown,
                                              const Screen& screen);
// Of a device or a session.
[[nodiscard]] Style style_of_state(std::string_view state);

// What a device says of itself, and its self-test, as text.

// A heading for each structure, then a line for each attribute of it; long values and meanings go on below.
[[nodiscard]] std::string render_attributes(const std::vector<AttributeView>& attributes, const Screen& screen);
// A line for each step: whether it passed, what the device answered, what that means.
[[nodiscard]] std::string render_self_test(const std::vector<api::SelfTestStep>& steps, const Screen& screen);
// "EREMOTEIO"; a number that has no name: "errno 4711"
[[nodiscard]] std::string errno_name(std::uint64_t number);

}    // namespace rdmaqos::ctl
