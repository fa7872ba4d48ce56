// The thread on which everything is done that waits for the device, and what is owed by it.
//
//     main loop                                       worker thread
//     run(work, done) ── work ──▶                     work(core): Reconciler ──▶ Backend
//     done(result)    ◀── result ──
//
// Thread: the main loop. Callbacks run on the main loop, never before the call returns, and each of them runs: what the
// device has not answered when it goes is answered with DeviceGone.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "daemon/handover/device_handover.h"
#include "daemon/loop/ending_workers.h"
#include "daemon/loop/loop_calls.h"
#include "lib/base/clock.h"
#include "lib/base/executor.h"
#include "lib/base/loop_callback.h"
#include "lib/nic/backend.h"
#include "lib/reconcile/reconciler.h"
#include "lib/reconcile/worker.h"

namespace rdmaqos {

// A device that has answered nothing for so long is not waited for: the caller is answered so, and `status` says it.
// Below the 25 s after which a client of D-Bus gives up.
constexpr auto kPatienceWithDevices = std::chrono::seconds(15);

// How a device answers.
struct DeviceAnswers {
    std::optional<Duration> silent_for;    // it has answered nothing of what was asked of it; empty: it owes no answer
    std::size_t queue_depth = 0;

    [[nodiscard]] bool is_silent() const;    // for as long as nobody waits
};

// What becomes of what is on a device when its thread ends.
enum class Farewell : std::uint8_t {
    ToNextDaemon,    // it stays, if a handover keeps it
    ForGood,
};
// For those who still wait for the device.
[[nodiscard]] Error why_refused(Farewell farewell, const std::string& device);

class DeviceWorker {
public:
    // Touched on the worker thread only, but for its construction.
    struct Core {
        Core(std::unique_ptr<Backend> nic, std::shared_ptr<DeviceHandover> kept_by, const Clock& time,
             ReconcilerOptions options);

        const Clock& clock;
        Capabilities capabilities;
        std::shared_ptr<DeviceHandover> handover;    // may be null
        std::unique_ptr<Backend> backend;
        Reconciler reconciler;
    };

    // `handover` may be null: nothing is left by an earlier daemon, nor to the next one. `on_event` is called on the
    // main loop until end(). `ending` takes the thread when this object goes: waiting for firmware is not for the main
    // loop.
    DeviceWorker(std::unique_ptr<Backend> backend, std::shared_ptr<DeviceHandover> handover, ReconcilerOptions options,
                 std::size_t queue, Executor& executor, const Clock& clock, EndingWorkers& ending,
                 std::function<void(DeviceEvent)> on_event);
    ~DeviceWorker();
    DeviceWorker(const DeviceWorker&) = delete;
    DeviceWorker& operator=(const DeviceWorker&) = delete;

    // Runs `work(core)` on the thread, then `done(Result<what it returned>)`.
    template <typename Work, typename Done>
    void run(Work work, Done done)
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

    [[nodiscard]] DeviceAnswers answers() const;
    // Whether what is on the device can be left to the next daemon.
    [[nodiscard]] bool is_kept() const { return handover_ && handover_->is_kept(); }
    // Of the thread; of one that has ended, nothing that moves.
    [[nodiscard]] WorkerPulse pulse() const { return worker_ ? worker_->pulse() : WorkerPulse(); }

    // The thread does what is queued, closes the device and ends with `cargo`: what only then may be destroyed, where
    // it holds up nobody. Then `closed` is called. Nothing more is reported of the device.
    void end(Farewell farewell, std::shared_ptr<void> cargo, LoopCallback<void()> closed);
    // Answers what waits, after end(): nothing more will come.
    void refuse_all(const Error& error) { calls_.cancel(error); }

private:
    const Clock& clock_;
    TimePoint quiet_since_{};    // the last answer, or when the first of those that are due now was asked for
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);    // what a posted event checks first
    const std::shared_ptr<DeviceHandover> handover_;
    std::shared_ptr<Core> core_;
    EndingWorkers& ending_;
    std::unique_ptr<Worker> worker_;    // null: it has ended
    LoopCalls calls_;
};

}    // namespace rdmaqos
