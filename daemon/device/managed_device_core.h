// The inside of ManagedDevice, shared by its source files: what runs on its worker thread, and how.
#pragma once

#include <memory>
#include <utility>

#include "daemon/device/managed_device.h"

namespace rdmaqos {

// Lives as long as the worker has tasks; touched on the worker thread only, but for its construction.
struct ManagedDevice::Core {
    Core(std::unique_ptr<Backend> nic, const Clock& time, ReconcilerOptions options)
        : clock(time), capabilities(nic->capabilities()), backend(std::move(nic)), reconciler(*backend, time, options)
    {
    }

    const Clock& clock;
    const Capabilities capabilities;
    std::unique_ptr<Backend> backend;
    Reconciler reconciler;
};

// Runs `work(core)` on the worker thread, then `done(Result<what it returned>)` on the main loop.
template <typename Work, typename Done>
void ManagedDevice::on_worker(Work work, Done done)
{
    if (!worker_) {
        return;    // something in the middle of which the device left; there is nobody to tell
    }
    if (calls_.waiting() == 0) {
        quiet_since_ = clock_.now();
    }
    calls_.run(
        *worker_, [core = core_, work = std::move(work)]() mutable { return work(*core); },
        [this, done = std::move(done)](auto result) mutable {
            quiet_since_ = clock_.now();
            done(std::move(result));
        });
}

}    // namespace rdmaqos
