#include "daemon/device/device_worker.h"

#include <fmt/format.h>

namespace rdmaqos {

bool DeviceAnswers::is_silent() const
{
    return silent_for && *silent_for >= kPatienceWithDevices;
}

DeviceWorker::Core::Core(std::unique_ptr<Backend> nic, const Clock& time, ReconcilerOptions options)
    : clock(time), capabilities(nic->capabilities()), backend(std::move(nic)), reconciler(*backend, time, options)
{
}

DeviceWorker::DeviceWorker(std::unique_ptr<Backend> backend, ReconcilerOptions options, std::size_t queue,
                           Executor& executor, const Clock& clock, EndingWorkers& ending,
                           std::function<void(DeviceEvent)> on_event)
    : clock_(clock), ending_(ending),
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
    core_ = std::make_shared<Core>(std::move(backend), clock, options);
}

DeviceWorker::~DeviceWorker()
{
    // The service ends, and nobody is there to be answered: what waits is destroyed with calls_.
    end(nullptr, [] {});
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

void DeviceWorker::end(std::shared_ptr<void> cargo, LoopCallback<void()> closed)
{
    alive_.reset();
    if (worker_) {
        auto last = [core = std::move(core_), cargo = std::move(cargo)]() mutable {
            core.reset();
            cargo.reset();
        };
        ending_.end(std::move(worker_), std::move(last), std::move(closed));
    }
}

}    // namespace rdmaqos
