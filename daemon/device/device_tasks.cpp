#include "daemon/device/device_tasks.h"

#include "lib/base/log.h"
#include "lib/base/process_state.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "policy/model/identity.h"

namespace rdmaqos::device_tasks {
namespace {

bool runs(const ClientFile::Owner& process)
{
    const auto started = read_start_time("/proc", process.pid);
    return process.pid != 0 && started && *started == process.start_time && !has_died("/proc", process.pid);
}

}    // namespace

void inherit(DeviceWorker::Core& core)
{
    const Inheritance left = core.handover->left();
    const std::string device = core.backend->info().key();
    if (const auto taken = core.reconciler.inherit(left, *core.handover, runs); !taken) {
        log(LogLevel::Warning, {{"DEVICE", device}}, "{}: {}", device, to_string(taken.error()));
    }
    if (!left.empty()) {
        log(LogLevel::Notice, {{"DEVICE", device}}, "{}: goes on with {} and {} that an earlier rdma-qosd left", device,
            counted(left.elements.size(), "element"), counted(left.queue_pairs.size(), "queue pair"));
    }
}

std::pair<AttachReport, Capabilities> test_attaching(DeviceWorker::Core& core)
{
    if (core.backend->attach_report().postponed) {
        core.backend->test_attaching();
        core.capabilities = core.backend->capabilities();
        if (core.handover && core.handover->is_kept()) {
            if (const auto begun = core.handover->begin(core.backend->lifeline());
                !begun) {    // of the mode that was found
                const std::string device = core.backend->info().key();
                log(LogLevel::Warning, {{"DEVICE", device}}, "{}: {}", device, to_string(begun.error()));
            }
        }
    }
    return {core.backend->attach_report(), core.capabilities};
}

std::vector<Result<Admission>> admit(DeviceWorker::Core& core, const std::vector<QueuePairRef>& queue_pairs)
{
    std::vector<Result<Admission>> admissions;
    admissions.reserve(queue_pairs.size());
    for (const auto& queue_pair : queue_pairs) {
        admissions.push_back(core.backend->admit(queue_pair));
    }
    return admissions;
}

Report replace(DeviceWorker::Core& core, bool take_back, Tree tree, std::vector<QueuePairUpdate> queue_pairs)
{
    const auto before = core.reconciler.snapshot()->counters.operations;
    if (take_back) {
        static_cast<void>(core.reconciler.drain());
    }
    Report report = core.reconciler.update(std::move(tree), std::move(queue_pairs), {});
    report.operations = report.snapshot->counters.operations - before;
    return report;
}

bool set_write(DeviceWorker::Core& core, bool write)
{
    core.reconciler.set_write(write);
    return write;
}

Result<CounterReading> read_counters(DeviceWorker::Core& core)
{
    const auto counters = TRY(core.backend->port_counters());
    return CounterReading{counters, core.clock.now()};
}

std::vector<MarkAnswer> read_marks(DeviceWorker::Core& core, const std::vector<QueuePairRef>& queue_pairs)
{
    std::vector<MarkAnswer> answers;
    answers.reserve(queue_pairs.size());
    for (const auto& queue_pair : queue_pairs) {
        answers.push_back({queue_pair.number, core.backend->query_mark(queue_pair)});
    }
    return answers;
}

PlannedChange plan(DeviceWorker::Core& core, const DesiredState& wanted)
{
    PlannedChange change{core.reconciler.actual(), {}};
    change.plan = diff(wanted, change.before, core.capabilities);
    return change;
}

std::pair<Report, Report> repair(DeviceWorker::Core& core)
{
    // What changed behind our back is not known until it is read.
    Report repaired = core.reconciler.verify(true).report;
    Report rest = core.reconciler.replace(core.reconciler.desired());
    rest.operations += repaired.operations;
    return {std::move(repaired), std::move(rest)};
}

}    // namespace rdmaqos::device_tasks
