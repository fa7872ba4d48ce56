// Values to text for a terminal. Pure functions: golden tests need no daemon.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/bus/client.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/views.h"
#include "tools/rdma-qosctl/world/why.h"

namespace rdmaqos::ctl {

// render.cpp
[[nodiscard]] std::string render_levels(const std::vector<bus::Dict>& levels, Colour colour);
[[nodiscard]] std::string render_sessions(const std::vector<SessionView>& sessions, Colour colour);
[[nodiscard]] std::string render_answers(const std::vector<bus::Dict>& answers, Colour colour);
[[nodiscard]] std::string render_grant(const std::string& session, const bus::Dict& grant, Colour colour);
[[nodiscard]] std::string render_reconciled(const std::vector<bus::Dict>& results, Colour colour);
// `done`: what has become of each device, "disabled".
[[nodiscard]] std::string render_switched(const std::vector<bus::Dict>& results, std::string_view done, Colour colour);
[[nodiscard]] std::string render_drift(const std::vector<bus::Dict>& drifts, Colour colour);
// One line, without a time: "drift repaired on mlx5_0/1: 2 elements".
[[nodiscard]] std::string render_signal(const bus::Signal& signal);

// What each leaf gets when every leaf that holds queue pairs sends as much as it can.
using BusyRates = std::map<std::string, Bandwidth>;
[[nodiscard]] BusyRates busy_rates(const World& world, const DeviceView& device);    // show.cpp

// "alice", or "1000" if the uid has no name
[[nodiscard]] std::string owner_text(const bus::Dict& owner);

// render_plan.cpp
// For an administrator to approve: which levels change, per device the tree, who then gets how much when everything is
// busy, the operations, and which sessions move.
[[nodiscard]] std::string render_plans(const PlanReport& report, Colour colour);

// render_why.cpp
[[nodiscard]] std::string render_why(const WhyReport& report, Colour colour);

// render_devices.cpp
[[nodiscard]] std::string render_devices(const std::vector<DeviceView>& devices, Colour colour);
[[nodiscard]] std::string render_device(const DeviceView& device, Colour colour);
[[nodiscard]] std::string describe_scheduling(const Capabilities& capabilities);
[[nodiscard]] std::string describe_attachable(const Capabilities& capabilities);
[[nodiscard]] std::string describe_pacing(const PacingCapabilities& pacing);
// `busy` null: without its column. Of a class with many principals `principals_shown` are drawn; 0: all.
[[nodiscard]] std::string render_device_tree(const DeviceView& device, const BusyRates* busy,
                                             std::size_t principals_shown, Colour colour);
[[nodiscard]] Style style_of_state(std::string_view state);

// render_attributes.cpp
// A heading for each structure, then a line for each attribute of it; long values and meanings go on below.
[[nodiscard]] std::string render_attributes(const std::vector<AttributeView>& attributes, Colour colour);
// A line for each step: whether it passed, what the device answered, what that means.
[[nodiscard]] std::string render_self_test(const std::vector<bus::Dict>& steps, Colour colour);
// "EREMOTEIO"; a number that has no name: "errno 4711"
[[nodiscard]] std::string errno_name(std::uint64_t number);

// hardware_report.cpp
struct HardwareReport;
[[nodiscard]] std::string render_hardware_report(const HardwareReport& report, Colour colour);

// render_status.cpp
[[nodiscard]] std::string render_status(const World& world, const std::vector<Problem>& problems, Colour colour);

}    // namespace rdmaqos::ctl
