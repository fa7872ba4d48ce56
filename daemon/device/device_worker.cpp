#include "daemon/device/device_worker.h"

#include <fmt/format.h>

#include "daemon/device/device_tasks.h"

namespace rdmaqos {

Error why_refused(Farewell farewell, const std::string& device)
{
    return farewell == Farewell::ForGood ? Error{ErrorCode::DeviceGone, 0, fmt::format("{} went away", device)}
                                         : Error{ErrorCode::Busy, 0, "rdma-qosd is being restarted: try again"};
}

bool DeviceAnswers::is_silent() const
{
    return silent_for && *silent_for >= kPatienceWithDevices;
}

DeviceWorker::Core::Core(std::unique_ptr<Backend> nic, std::shared_ptr<DeviceHandover> kept_by, const Clock& time,
                         ReconcilerOptions options)
    : clock(time), capabilities(nic->capabilities()), handover(std::move(kept_by)), backend(std::move(nic)),
      reconciler(*backend, time, options)
{
}

DeviceWorker::DeviceWorker(std::unique_ptr<Backend> backend, std::shared_ptr<DeviceHandover> handover,
                           ReconcilerOptions options, std::size_t queue, Executor& executor, const Clock& clock,
                           EndingWorkers& ending, std::function<void(DeviceEvent)> on_event)
    : clock_(clock), handover_(std::move(handover)), ending_(ending),
      worker_(std::make_unique<Worker>(fmt::format("nic-{}", backend->info().name), queue)), calls_(executor)
{
    backend->set_event_handler(
        [&executor, alive = std::weak_ptr<int>(alive_), on_event = std::move(on_event)](DeviceEvent event) {
            executor.post([alive, on_event, event] {
                if (!alive.expired()) {
                    on_event(event);
                }
            });
        });
    core_ = std::make_shared<Core>(std::move(backend), handover_, clock, options);
    if (is_kept()) {
        worker_->submit_always([core = core_] { device_tasks::inherit(*core); });
    }
}

DeviceWorker::~DeviceWorker()
{
    // The service ends, and nobody is there to be answered: what waits is destroyed with calls_.
    end(Farewell::ToNextDaemon, nullptr, [] {});
}

DeviceAnswers DeviceWorker::answers() const
{
    DeviceAnswers answers;
    if (calls_.waiting() > 0) {
        answers.silent_for = clock_.now() - quiet_since_;
    }
    if (worker_) {
        answers.queue_depth = worker_->queued();
    }
    return answers;
}

void DeviceWorker::end(Farewell farewell, std::shared_ptr<void> cargo, LoopCallback<void()> closed)
{
    alive_.reset();
    if (worker_) {
        auto last = [core = std::move(core_), cargo = std::move(cargo), handover = handover_, farewell]() mutable {
            // First, so that not the service manager but this thread waits for the firmware when the file is closed.
            if (handover && farewell == Farewell::ForGood) {
                handover->forget();
            }
            core.reset();
            cargo.reset();
        };
        ending_.end(std::move(worker_), std::move(last), std::move(closed));
    }
}

}    // namespace rdmaqos
