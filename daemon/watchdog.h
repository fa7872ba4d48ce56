// Tells the service manager that the daemon lives, as long as it does (WatchdogSec= of rdma-qosd.service).
//
// It lives if its main loop turns, for this is called by a timer of it, and if the threads of its devices take the work
// they are given. A thread that is in the middle of a task is left in peace however long that takes: it waits for
// firmware, a new process would wait for the same firmware, and other devices are served meanwhile. Only work that lies
// there while the thread has nothing to do, from one look to the next, shows that the thread is lost.
//
// Thread: the main loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/executor.h"
#include "lib/reconcile/worker.h"

namespace rdmaqos {

// The threads that are lost, by name. Pure.
[[nodiscard]] std::vector<std::string> lost_threads(const std::map<std::string, WorkerPulse>& before,
                                                    const std::map<std::string, WorkerPulse>& now);

class Watchdog {
public:
    // Looks at `pulses` each `period`, and calls `feed` if all is well. The loop must outlive it.
    Watchdog(Executor& loop, Duration period, std::function<std::map<std::string, WorkerPulse>()> pulses,
             std::function<void()> feed);

private:
    void look();
    void wait();

    Executor& loop_;
    const Duration period_;
    const std::function<std::map<std::string, WorkerPulse>()> pulses_;
    const std::function<void()> feed_;
    std::map<std::string, WorkerPulse> before_;
    bool logged_ = false;    // that threads are lost
    std::unique_ptr<Timer> timer_;
};

}    // namespace rdmaqos
