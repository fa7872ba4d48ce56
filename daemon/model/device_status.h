// What a device is, and what became of what was written to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/nic/backend.h"
#include "lib/port_classes/steps.h"
#include "lib/reconcile/reconciler.h"
#include "lib/tree/compile.h"
#include "policy/model/device_selector.h"

namespace rdmaqos {

enum class DeviceState : std::uint8_t { Ready, Degraded, Monitor, Disabled, Gone };
[[nodiscard]] std::string_view to_string(DeviceState state);

struct DeviceStatus {
    DeviceInfo info;
    DeviceState state = DeviceState::Ready;
    std::string reason;    // one sentence when not Ready: what is wrong and what to do
    AttachReport attach{AttachMode::None, "", {}};
    std::shared_ptr<const std::vector<DeviceAttribute>>
        attributes;    // never changes; null for a device that has just gone
    Capabilities capabilities;
    std::shared_ptr<const Snapshot> snapshot;    // null until the first reconcile
    RequestedRates requested;                    // by the policy, of elements of the tree
    std::vector<Finding> findings;
    // Mode per-process: what holds of each class that is in use. And whether drift is found.
    std::vector<std::string> attach_notes;
    std::uint32_t queue_pairs_inside = 0;
    std::uint32_t queue_pairs_outside = 0;    // of sessions, but in no leaf
    std::size_t queue_depth = 0;
};

// A device of this host that cannot be managed, or not yet.
struct RefusedDevice {
    DeviceNames names;
    std::string why;    // a sentence

    friend bool operator==(const RefusedDevice&, const RefusedDevice&) = default;
};

// What the device advertises less what is used.
[[nodiscard]] std::uint32_t elements_used(const DeviceStatus& status);
[[nodiscard]] std::uint32_t elements_free(const DeviceStatus& status);
[[nodiscard]] std::uint32_t leaves_used(const DeviceStatus& status);
[[nodiscard]] std::uint32_t leaves_free(const DeviceStatus& status);

// What a port has moved, and when it was asked: two readings give a rate.
struct CounterReading {
    PortCounters counters;
    TimePoint taken_at{};

    friend bool operator==(const CounterReading&, const CounterReading&) = default;
};

// What a device has, and what would have to be done to it.
struct PlannedChange {
    ActualState before;
    Plan plan;
};

// What of the policy is not on a device as it says: what was refused, and what there is no room for (those have no
// operation). Every report that says whether a device matches the policy says it by these.
[[nodiscard]] std::vector<ElementFailure> open_failures(const Snapshot& snapshot);
// The first of them by which this element is not as the policy says: its own, or one of an element above it. Null:
// none.
[[nodiscard]] const ElementFailure* failure_at(const std::vector<ElementFailure>& failures, const ElementPath& path);
// "create /bulk: the device is full (tried 2 times)"
[[nodiscard]] std::string to_sentence(const ElementFailure& failure);

// What of the traffic classes of a port is not as it should be.
struct PortDifference {
    std::string netdev;
    std::vector<port_classes::Difference> parts;
};

struct DeviceDrift {
    std::string device;
    std::vector<Drift> drifts;
    std::vector<ElementFailure> failures{};    // what differs from the policy because it could not be written or read
    std::optional<PortDifference> port{};      // empty: its traffic classes are as they should be
};

struct DeviceFailure {
    std::string device;
    ElementFailure failure;
};

// What was written to a device, and what did not work.
struct DeviceReconcile {
    std::string device;
    std::uint64_t operations = 0;
    std::vector<ElementFailure> failures;
};

}    // namespace rdmaqos
