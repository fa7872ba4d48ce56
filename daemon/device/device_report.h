// What is said of a device as a whole: its state with the reason, its status, its metrics, and what a reconcile did.
// Pure.
#pragma once

#include <cstddef>
#include <optional>

#include "daemon/device/device_facts.h"
#include "daemon/device/device_worker.h"
#include "daemon/model/device_status.h"
#include "daemon/model/metrics.h"
#include "policy/model/policy.h"

namespace rdmaqos {

[[nodiscard]] DeviceStatus device_status(const DeviceFacts& facts, const DeviceAnswers& answers);
// `policy`: the running one, or null. Without the port's counters.
[[nodiscard]] DeviceMetrics device_metrics(const DeviceFacts& facts, const DeviceAnswers& answers,
                                           const Policy* policy);

// In place of drifts, of a device that does not say what was written.
[[nodiscard]] Drift unreadable(const AttachReport& attach);
// `drifts`: that were found just now; with what differs from the policy because it could not be written.
[[nodiscard]] DeviceDrift device_drift(const DeviceFacts& facts, std::vector<Drift> drifts);
[[nodiscard]] DeviceReconcile reconcile_result(const DeviceFacts& facts, const Report& report);
[[nodiscard]] DeviceReconcile reconcile_result(const DeviceFacts& facts, const Error& error);    // the device gave none

}    // namespace rdmaqos
