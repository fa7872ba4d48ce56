// From a policy to what the tree compiler takes: the bridge between the two.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/tree/compile.h"
#include "policy/model/identity.h"
#include "policy/model/policy.h"

namespace rdmaqos {

// For a device that has all of the policy. Levels that are only monitored have no class in it, and limit nothing; a
// node with only such levels below it is not there.
[[nodiscard]] TreeSpec to_tree_spec(const Policy& policy);

// What of it only some devices have, by the path of the element.
using ElementDevices = std::map<ElementPath, std::vector<DeviceSelector>>;
[[nodiscard]] ElementDevices element_devices(const Policy& policy);

// Whether an element with this path is for this device: by its own devices, and those of all above it.
[[nodiscard]] bool is_for_device(const ElementPath& path, const ElementDevices& devices, const DeviceNames& device);
// What is for this device: without the elements that are for others, and those below them.
[[nodiscard]] TreeSpec for_device(TreeSpec spec, const ElementDevices& devices, const DeviceNames& device);
// Both in one.
[[nodiscard]] TreeSpec to_tree_spec(const Policy& policy, const DeviceNames& device);

// Whether there is this class among them.
[[nodiscard]] bool has_class(const TreeSpec& spec, const ElementPath& path);

// The path of a level's class: "/tenants/rpc"; empty for a level without `schedule`. Of a level that is only monitored,
// where it would be.
[[nodiscard]] ElementPath class_path(const Policy& policy, const QosLevel& level);

// The path of a scheduling-node, which is one of the policy's.
[[nodiscard]] ElementPath node_path(const Policy& policy, const SchedulingNode& node);

// Who a queue pair of this client counts as in a class that is fair by something: "pid:4711", "uid:1000",
// "unit:job-7.scope", "cgroup:batch%2Fa", "job:4711", "pod:UID", "qp:17"; empty for FairBy::None. A process outside any
// unit (matching cgroup, job, pod) stands for itself: "pid:4711". `cgroup_pattern`: as Schedule::fair_cgroup.
[[nodiscard]] std::string principal_segment(FairBy fair_by, const std::string& cgroup_pattern, const Identity& identity,
                                            QueuePairId queue_pair);

}    // namespace rdmaqos
