// One thread with a bounded queue: everything that can wait on firmware or a disk runs here, never on the main loop.
//
//     main loop ── submit(task) ──▶ queue ──▶ worker thread: task() ── completion ──▶ post ──▶ main loop
//
// `post` is given by the main loop (an eventfd, lib/bus/event.h); tests give one that runs at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace rdmaqos {

// Runs a function on the main loop soon. Callable from any thread, also after the loop has ended (then it does
// nothing).
using Post = std::function<void(std::function<void()>)>;

// What can be seen of a thread from outside.
struct WorkerPulse {
    std::uint64_t begun = 0;    // tasks that it has taken so far
    std::size_t waiting = 0;    // tasks that it has not taken yet
    bool busy = false;          // it is in a task

    friend bool operator==(const WorkerPulse&, const WorkerPulse&) = default;
};

// At both times there was a task to take, the thread was in none, and between them it has taken none. A thread that is
// busy may be waiting for its device, and is none of these.
[[nodiscard]] bool takes_no_work(const WorkerPulse& before, const WorkerPulse& now);

class Worker {
public:
    Worker(std::string thread_name, std::size_t queue_limit);
    // Runs what is queued to its end, then joins.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // False: the queue is full and the task was not taken; the caller answers Busy.
    [[nodiscard]] bool submit(std::function<void()> task);
    // For work that must not be lost (release of a dead client's queue pairs): beyond the limit too. What it adds is
    // bounded by what clients have already been granted.
    void submit_always(std::function<void()> task);

    [[nodiscard]] std::size_t queued() const;
    [[nodiscard]] WorkerPulse pulse() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}    // namespace rdmaqos
