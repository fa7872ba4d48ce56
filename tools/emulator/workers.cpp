#include "tools/emulator/workers.h"

namespace rdmaqos::emulator {

void Workers::finish()
{
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) {    // nobody adds one any more
        thread.join();
    }
    threads_.clear();
}

void Workers::run(std::function<void()> job)
{
    const std::lock_guard lock(mutex_);
    if (ending_) {
        return;
    }
    jobs_.push_back(std::move(job));
    if (jobs_.size() > idle_ && threads_.size() < most_) {
        threads_.emplace_back([this] { work(); });
    } else {
        wake_.notify_one();
    }
}

void Workers::work()
{
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        wake_.wait(lock, [this] { return !jobs_.empty() || ending_; });
        --idle_;
        if (jobs_.empty()) {
            return;
        }
        const auto job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
        lock.lock();
    }
}

}    // namespace rdmaqos::emulator
