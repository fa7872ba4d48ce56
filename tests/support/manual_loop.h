// An Executor that a test steps: functions posted from any thread run when the test says so, timers when it moves the
// clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "lib/base/executor.h"
#include "tests/support/patience.h"
#include "tests/support/threads.h"

namespace rdmaqos::test {

class ManualLoop final : public Executor {
public:
    void post(std::function<void()> function) override
    {
        const std::lock_guard lock(mutex_);
        posted_.push_back(std::move(function));
        changed_.notify_one();
    }

    std::unique_ptr<Timer> after(Duration delay, std::function<void()> function) override
    {
        auto timer = std::make_shared<Pending>(Pending{clock.now() + delay, std::move(function)});
        timers_.push_back(timer);
        return std::make_unique<Handle>(std::move(timer));
    }

    // Runs what is posted, waiting for worker threads, until `done()`, which may also be something that they do without
    // posting anything; false after `patience`.
    template <typename Done>
    bool run_until(Done done, Duration patience = kHung)
    {
        const auto deadline = std::chrono::steady_clock::now() + patience;
        while (!done()) {
            if (!run_one(std::min(kPause, patience)) && std::chrono::steady_clock::now() > deadline) {
                return false;
            }
        }
        return true;
    }

    // Runs what is posted until nobody has anything to do: every other thread of this process waits for something that
    // does not come by itself, and nothing is posted. Not for work that sleeps.
    void run_until_rest()
    {
        while (run_one(Duration(0)) || !rests(getpid()) || run_one(Duration(0))) {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
    }

    // Moves the clock and runs the timers that are due.
    void advance(Duration by)
    {
        clock.advance(by);
        const auto due = timers_;
        for (const auto& weak : due) {
            if (const auto timer = weak.lock(); timer && timer->when <= clock.now() && timer->function) {
                std::exchange(timer->function, nullptr)();
            }
        }
        std::erase_if(timers_, [](const auto& weak) { return weak.expired(); });
    }

    ManualClock clock;

private:
    static constexpr Duration kPause = std::chrono::milliseconds(5);

    // False: nothing was posted within this time.
    bool run_one(Duration patience)
    {
        std::function<void()> next;
        {
            std::unique_lock lock(mutex_);
            if (!changed_.wait_for(lock, patience, [this] { return !posted_.empty(); })) {
                return false;
            }
            next = std::move(posted_.front());
            posted_.pop_front();
        }
        next();
        return true;
    }

    struct Pending {
        TimePoint when;
        std::function<void()> function;
    };
    struct Handle final : Timer {
        explicit Handle(std::shared_ptr<Pending> timer) : pending(std::move(timer)) {}
        std::shared_ptr<Pending> pending;
    };

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> posted_;
    std::vector<std::weak_ptr<Pending>> timers_;
};

}    // namespace rdmaqos::test
