// The metrics in a file for the textfile collector of node_exporter: written at an interval, replaced as a whole, and
// gone when the daemon ends.
//
//     main loop                       worker thread
//     every interval: Metrics ──▶     text, write beside the file, rename
//
// A file system that hangs holds up the worker only; until it answers nothing else is written.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "daemon/loop/loop_calls.h"
#include "daemon/service/observer.h"
#include "daemon/service/service.h"
#include "lib/reconcile/worker.h"
#include "policy/model/settings.h"

namespace rdmaqos {

class MetricsFile final : public ServiceObserver {
public:
    // All must outlive it. `root`: prefix of the path in the settings.
    MetricsFile(Service& service, Executor& executor, std::filesystem::path root);
    // Removes the file.
    ~MetricsFile() override;
    MetricsFile(const MetricsFile&) = delete;
    MetricsFile& operator=(const MetricsFile&) = delete;

    // Begins as the service's settings say. What a reload changes is taken over by itself.
    void start();
    // A write has begun and is not over; meanwhile no other is begun.
    [[nodiscard]] bool is_writing() const { return writing_; }

private:
    void policy_changed() override { start(); }
    void tick();
    void write(const Metrics& metrics);
    void remove();
    [[nodiscard]] std::filesystem::path path() const;

    Service& service_;
    Executor& executor_;
    std::filesystem::path root_;
    MetricsSettings settings_;
    bool writing_ = false;
    std::unique_ptr<Timer> timer_;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
    // What the last write failed with; of the worker thread.
    std::shared_ptr<std::string> problem_ = std::make_shared<std::string>();
    Worker worker_{"metrics", 4};
    LoopCalls calls_;    // goes first: what the thread says then is not heard
};

}    // namespace rdmaqos
