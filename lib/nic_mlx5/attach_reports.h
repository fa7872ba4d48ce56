// How it becomes known by which way queue pairs of others can be attached to a device: it is forced, kept from an
// earlier self-test, or tested.
#pragma once

#include <optional>

#include "lib/nic/backend.h"
#include "lib/nic_mlx5/mlx5_backend.h"

namespace rdmaqos::mlx5 {

// Without writing to the device; empty: that takes a test. Busy: it cannot be found out at this time, for want of
// descriptors or memory.
[[nodiscard]] Result<std::optional<AttachReport>> known_report(const DeviceInfo& port, const Capabilities& can,
                                                               const BackendOptions& options);
[[nodiscard]] AttachReport tested_report(const DeviceInfo& port, const Capabilities& can,
                                         const BackendOptions& options);
// Of a device that is left alone for now.
[[nodiscard]] AttachReport postponed_report(const BackendOptions& options);

// A step failed for want of descriptors or memory in this process: the report says nothing of the device. Pure.
[[nodiscard]] bool was_short(const AttachReport& report);

}    // namespace rdmaqos::mlx5
