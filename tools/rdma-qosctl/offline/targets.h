// The ports a policy is compiled for, and what it does to them when they are empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/model/port_classes.h"
#include "lib/tree/attach_mode.h"
#include "lib/tree/compile.h"
#include "policy/model/local_port.h"
#include "policy/model/policy.h"
#include "policy/model/request.h"
#include "policy/model/settings.h"
#include "policy/model/simulation.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// A port a policy is compiled for.
struct Target {
    std::string device;    // "mlx5_0/1", "default profile"
    Capabilities capabilities;
    Bandwidth link_speed;
    std::uint32_t mtu = 4096;
    DeviceNames names;                 // of the default profile: empty
    std::optional<LocalPort> local;    // of the default profile: none
    bool is_per_process = false;       // the device has a tree for each process; what is only simulated has one
    CapMode caps = CapMode::Whole;
    PortClasses port{};    // the traffic classes that it has now, if they divide it
};

// A ConnectX-6 Dx at 100 Gbit/s.
[[nodiscard]] Target default_target();
[[nodiscard]] Target to_target(const SimulatedDevice& device);
[[nodiscard]] Target to_target(const DeviceView& device);

// The devices of a simulation file; empty name: the default profile alone. Error InvalidPolicy with the diagnostics.
[[nodiscard]] Result<std::vector<Target>> load_targets(const std::string& simulation);

// What of the policy is for this target; the default profile has all of it.
[[nodiscard]] TreeSpec tree_spec_for(const Policy& policy, const Target& target);

// The ports of the targets. The default profile stands for some port, so that `node-type: SELF` is no complaint.
[[nodiscard]] std::vector<LocalPort> local_ports(const std::vector<Target>& targets);

[[nodiscard]] Compiled compile_for(const Policy& policy, const Target& target, const Settings& settings);
// What the policy would do to an empty device on which nothing has run.
[[nodiscard]] api::DevicePlan plan_for(const Policy& policy, const Target& target, const Settings& settings);

}    // namespace rdmaqos::ctl
