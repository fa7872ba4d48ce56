#include "daemon/adoption/taken_file.h"
#include "lib/base/try.h"

#include <utility>

namespace rdmaqos {

RestingFiles::RestingFiles(Duration rest) : rest_(rest), thread_([this] { run(); }) {}

RestingFiles::~RestingFiles()
{
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void RestingFiles::add(std::weak_ptr<TakenFile> file)
{
    {
        const std::lock_guard lock(mutex_);
        files_.emplace_back(std::chrono::steady_clock::now() + rest_, std::move(file));
    }
    changed_.notify_one();
}

void RestingFiles::run()
{
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return ending_ || !files_.empty(); });
        if (ending_) {
            return;
        }
        const auto due = files_.front().first;
        if (changed_.wait_until(lock, due, [this] { return ending_; })) {
            return;
        }
        const auto file = std::move(files_.front().second);
        files_.pop_front();
        lock.unlock();
        if (const auto alive = file.lock()) {
            alive->rested();
        }
        lock.lock();
    }
}

TakenFile::TakenFile(std::shared_ptr<const Program> program, VerbsFile file, std::weak_ptr<RestingFiles> resting,
                     Close close)
    : ClientFile(UniqueFd(), close), program_(std::move(program)), file_(file), resting_(std::move(resting)),
      close_taken_(std::move(close))
{
}

Result<void> TakenFile::open()
{
    const std::lock_guard lock(mutex_);
    if (fd() < 0) {
        auto taken = TRY(take_verbs_file(*program_, file_, close_taken_));
        set_fd(std::move(taken));
    }
    ++uses_;
    return {};
}

void TakenFile::used()
{
    const auto resting = resting_.lock();    // goes after the lock: its end waits for a thread that may want this lock
    const std::lock_guard lock(mutex_);
    if (--uses_ > 0) {
        return;
    }
    if (resting) {
        resting->add(weak_from_this());
    } else {
        close_fd();
    }
}

void TakenFile::rested()
{
    const std::lock_guard lock(mutex_);
    if (uses_ == 0) {
        close_fd();
    }
}

}    // namespace rdmaqos
