// ManagedDevice: what administrators and observers ask of it as a whole.
#include <utility>

#include "daemon/device/managed_device_core.h"
#include "lib/base/log.h"

namespace rdmaqos {

void ManagedDevice::set_disabled(bool disabled, LoopCallback<void(DeviceReconcile)> done)
{
    disabled_ = disabled;
    static_cast<void>(book_.update());
    DesiredState state = desired();
    std::vector<QueuePairUpdate> updates;
    for (const std::uint32_t number : book_.members_in_order()) {
        updates.push_back({book_.find(number)->ref, state.queue_pairs.at(QueuePairId{number})});
    }
    // A daemon that only watches leaves the device alone, but not when it is told to leave it.
    const bool take_back = disabled && settings_.mode == Mode::Monitor;
    on_worker(
        [take_back, tree = std::move(state.tree), updates = std::move(updates)](Core& core) mutable {
            const auto before = core.reconciler.snapshot()->counters.operations;
            if (take_back) {
                static_cast<void>(core.reconciler.drain());
            }
            Report report = core.reconciler.update(std::move(tree), std::move(updates), {});
            report.operations = report.snapshot->counters.operations - before;
            return report;
        },
        [this, done = std::move(done)](const Result<Report>& report) {
            if (!report) {
                done(to_result(report.error()));
                return;
            }
            take_report(*report);
            listener_.device_status_changed(key_);
            done(to_result(*report));
        });
}

void ManagedDevice::counters(Callback<CounterReading> done)
{
    on_worker(
        [](Core& core) -> Result<CounterReading> {
            const auto counters = core.backend->port_counters();
            if (!counters) {
                return fail(counters.error());
            }
            return CounterReading{*counters, core.clock.now()};
        },
        std::move(done));
}

void ManagedDevice::plan(std::shared_ptr<const DesiredState> wanted, Callback<PlannedChange> done)
{
    on_worker(
        [wanted = std::move(wanted)](Core& core) {
            PlannedChange change{core.reconciler.actual(), {}};
            change.plan = diff(*wanted, change.before, core.capabilities);
            return change;
        },
        std::move(done));
}

void ManagedDevice::reconcile_now(LoopCallback<void(DeviceReconcile)> done)
{
    on_worker(
        [](Core& core) {
            // What changed behind our back is not known until it is read.
            Report repaired = core.reconciler.verify(true).report;
            Report rest = core.reconciler.replace(core.reconciler.desired());
            rest.operations += repaired.operations;
            return std::pair(std::move(repaired), std::move(rest));
        },
        [this, done = std::move(done)](const Result<std::pair<Report, Report>>& reports) {
            if (!reports) {
                done(to_result(reports.error()));
                return;
            }
            take_report(reports->first);
            take_report(reports->second);
            done(to_result(reports->second));
        });
}

void ManagedDevice::verify(bool repair, Callback<DeviceDrift> done)
{
    on_worker([repair](Core& core) { return core.reconciler.verify(repair); },
              [this, done = std::move(done)](const Result<DriftReport>& found) {
                  if (!found) {
                      done(fail(found.error()));
                      return;
                  }
                  take_report(found->report);
                  std::uint32_t repaired = 0;
                  for (const auto& drift : found->drifts) {
                      repaired += drift.repaired ? 1 : 0;
                      log(LogLevel::Warning, {{"DEVICE", key_}, {"PATH", drift.path.text()}},
                          "{}: {} drifted: expected {}, found {}{}", key_, drift.path.text(), drift.expected,
                          drift.found, drift.repaired ? "; repaired" : "");
                  }
                  if (repaired > 0) {
                      listener_.drift_repaired(key_, repaired);
                  }
                  done(DeviceDrift{key_, found->drifts});
              });
}

void ManagedDevice::drain(LoopCallback<void(DeviceReconcile)> done)
{
    draining_ = true;
    stop_timers();
    on_worker([](Core& core) { return core.reconciler.drain(); },
              [this, done = std::move(done)](const Result<Report>& report) {
                  if (!report) {
                      done(to_result(report.error()));
                      return;
                  }
                  snapshot_ = report->snapshot;
                  done(to_result(*report));
              });
}

}    // namespace rdmaqos
