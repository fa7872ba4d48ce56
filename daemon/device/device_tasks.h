// What a device's thread does for ManagedDevice, beyond what one call of its Reconciler is.
//
// Thread: the device's.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "daemon/device/device_worker.h"
#include "daemon/device/queue_pair_marks.h"
#include "daemon/model/device_status.h"

namespace rdmaqos::device_tasks {

// Goes on with what an earlier daemon left, and says so. There is a handover.
void inherit(DeviceWorker::Core& core);
// Finds out what was put off (AttachReport::postponed), if it was.
[[nodiscard]] std::pair<AttachReport, Capabilities> test_attaching(DeviceWorker::Core& core);
// In the order of `queue_pairs`.
[[nodiscard]] std::vector<Result<Admission>> admit(DeviceWorker::Core& core,
                                                   const std::vector<QueuePairRef>& queue_pairs);
// `take_back`: everything, also what a reconciler that does not write would leave. Its operations count all of it.
[[nodiscard]] Report replace(DeviceWorker::Core& core, bool take_back, Tree tree,
                             std::vector<QueuePairUpdate> queue_pairs);
// Writes nothing itself: of what was not written until now, the next task knows whether it is still desired.
[[nodiscard]] bool set_write(DeviceWorker::Core& core, bool write);
[[nodiscard]] Result<CounterReading> read_counters(DeviceWorker::Core& core);
[[nodiscard]] std::vector<MarkAnswer> read_marks(DeviceWorker::Core& core,
                                                 const std::vector<QueuePairRef>& queue_pairs);
[[nodiscard]] PlannedChange plan(DeviceWorker::Core& core, const DesiredState& wanted);
// What changed behind our back, and the rest, with the operations of both.
[[nodiscard]] std::pair<Report, Report> repair(DeviceWorker::Core& core);

}    // namespace rdmaqos::device_tasks
