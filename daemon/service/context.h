// What every part of the service works with: the main loop, the threads that work for it, and its observers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/loop/ending_workers.h"
#include "daemon/loop/loader.h"
#include "daemon/loop/loop_calls.h"
#include "daemon/model/state_failure.h"
#include "daemon/service/observer.h"
#include "daemon/service/options.h"
#include "lib/base/clock.h"
#include "lib/base/executor.h"
#include "lib/base/file_closer.h"
#include "lib/base/result.h"

namespace rdmaqos {

struct ServiceContext {
    ServiceContext(ServiceOptions given, Executor& loop, const Clock& time);

    template <typename Function>
    void notify(Function function)
    {
        for (ServiceObserver* observer : std::vector<ServiceObserver*>(observers)) {
            function(*observer);
        }
    }
    void add_observer(ServiceObserver& observer) { observers.push_back(&observer); }
    void remove_observer(ServiceObserver& observer) { std::erase(observers, &observer); }
    // Without a message: the file has what it should.
    void note_state(const std::string& file, StateFailure failure);
    // `loss`: what follows if it could not be written: "which devices are disabled will not be known after a restart".
    // Returns the failure, a sentence; empty: it was written.
    std::string note_saved(const std::string& file, const Result<void>& saved, std::string_view loss);
    // Busy while shutting down.
    [[nodiscard]] Result<void> not_ending() const;

    const ServiceOptions options;
    Executor& executor;
    const Clock& clock;
    std::vector<ServiceObserver*> observers;
    bool shutting_down = false;
    // Of the files below /var/lib/rdma-qos and /run/rdma-qos, by name: why one does not have what it should.
    std::map<std::string, StateFailure> state_failures;
    std::shared_ptr<FileCloser> closer = std::make_shared<FileCloser>();    // of files of clients
    // What waits for another thread goes before the thread.
    EndingWorkers ending;
    Loader loader;
    LoopCalls calls;
};

}    // namespace rdmaqos
