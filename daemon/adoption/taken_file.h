// A device file of a program that did not register, open here only while it is used: while it is open here, what is in
// it outlives its program.
//
//     use ── pidfd_getfd ──▶ open, in use ── no longer used ──▶ rests ── a few milliseconds later ──▶ closed
//                                 ▲                               │
//                                 └────────── used again ─────────┘
//
// It rests because a file is seldom used once alone: a program's queue pairs are moved one after the other.
//
// Threads: any.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "daemon/adoption/program.h"
#include "lib/base/clock.h"
#include "lib/nic/backend.h"

namespace rdmaqos {

class TakenFile;

// Closes files that have rested long enough, on a thread of its own. A file that is used after this has gone rests no
// longer.
class RestingFiles {
public:
    explicit RestingFiles(Duration rest);
    ~RestingFiles();
    RestingFiles(const RestingFiles&) = delete;
    RestingFiles& operator=(const RestingFiles&) = delete;

    void add(std::weak_ptr<TakenFile> file);

private:
    void run();

    const Duration rest_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::pair<std::chrono::steady_clock::time_point, std::weak_ptr<TakenFile>>>
        files_;    // the oldest first
    bool ending_ = false;
    std::thread thread_;    // last
};

class TakenFile final : public ClientFile, public std::enable_shared_from_this<TakenFile> {
public:
    // `close` must not wait.
    TakenFile(std::shared_ptr<const Program> program, VerbsFile file, std::weak_ptr<RestingFiles> resting, Close close);
    ~TakenFile() override = default;
    TakenFile(const TakenFile&) = delete;
    TakenFile& operator=(const TakenFile&) = delete;

    [[nodiscard]] const Program& program() const { return *program_; }
    [[nodiscard]] const VerbsFile& file() const { return file_; }
    [[nodiscard]] std::optional<Owner> owner() const override
    {
        return Owner{program_->pid(), program_->identity().start_time};
    }
    [[nodiscard]] bool is_of(int fd) const override { return is_open_file_of(*program_, file_, fd); }
    // Closes it if nobody uses it.
    void rested();

protected:
    Result<void> open() override;
    void used() override;

private:
    const std::shared_ptr<const Program> program_;
    const VerbsFile file_;
    const std::weak_ptr<RestingFiles> resting_;
    const Close close_taken_;
    std::mutex mutex_;
    std::size_t uses_ = 0;
};

}    // namespace rdmaqos
