#include "lib/reconcile/worker.h"

#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <pthread.h>

#include "lib/base/log.h"

namespace rdmaqos {
namespace {

// The kernel keeps 15 bytes of a thread's name.
constexpr std::size_t kLongestThreadName = 15;

// Nothing a task throws may end the thread: the tasks behind it belong to others.
void run(const std::string& thread_name, const std::function<void()>& task) noexcept
{
    try {
        task();
    } catch (const std::exception& error) {
        log(LogLevel::Error, {{"THREAD", thread_name}}, "{}: a task failed: {}", thread_name, error.what());
    } catch (...) {
        log(LogLevel::Error, {{"THREAD", thread_name}}, "{}: a task failed with an unknown exception", thread_name);
    }
}

// Signals are for the main loop; a new thread inherits the mask of the one that makes it.
class AllSignalsBlocked {
public:
    AllSignalsBlocked()
    {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    AllSignalsBlocked(const AllSignalsBlocked&) = delete;
    AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

private:
    sigset_t before_{};
};

}    // namespace

struct Worker::State {
    std::string thread_name;
    std::size_t limit;
    mutable std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
    std::uint64_t begun = 0;
    bool busy = false;
    bool ending = false;
    std::thread thread;

    State(std::string name, std::size_t queue_limit) : thread_name(std::move(name)), limit(queue_limit) {}

    void loop()
    {
        while (true) {
            std::function<void()> task;
            {
                std::unique_lock lock(mutex);
                busy = false;
                changed.wait(lock, [this] { return ending || !tasks.empty(); });
                if (tasks.empty()) {
                    return;
                }
                task = std::move(tasks.front());
                tasks.pop_front();
                ++begun;
                busy = true;
            }
            run(thread_name, task);
        }
    }
};

Worker::Worker(std::string thread_name, std::size_t queue_limit)
    : state_(std::make_unique<State>(std::move(thread_name), queue_limit))
{
    const AllSignalsBlocked blocked;
    state_->thread = std::thread([state = state_.get()] {
        pthread_setname_np(pthread_self(), state->thread_name.substr(0, kLongestThreadName).c_str());
        state->loop();
    });
}

Worker::~Worker()
{
    {
        const std::lock_guard lock(state_->mutex);
        state_->ending = true;
    }
    state_->changed.notify_one();
    state_->thread.join();
}

bool Worker::submit(std::function<void()> task)
{
    {
        const std::lock_guard lock(state_->mutex);
        if (state_->tasks.size() >= state_->limit) {
            return false;
        }
        state_->tasks.push_back(std::move(task));
    }
    state_->changed.notify_one();
    return true;
}

void Worker::submit_always(std::function<void()> task)
{
    {
        const std::lock_guard lock(state_->mutex);
        state_->tasks.push_back(std::move(task));
    }
    state_->changed.notify_one();
}

std::size_t Worker::queued() const
{
    const std::lock_guard lock(state_->mutex);
    return state_->tasks.size();
}

WorkerPulse Worker::pulse() const
{
    const std::lock_guard lock(state_->mutex);
    return {state_->begun, state_->tasks.size(), state_->busy};
}

bool takes_no_work(const WorkerPulse& before, const WorkerPulse& now)
{
    return before.waiting > 0 && now.waiting > 0 && !before.busy && !now.busy && before.begun == now.begun;
}

}    // namespace rdmaqos
