// One thread with a bounded queue: everything that can wait on firmware or a disk runs here, never on the main loop.
//
//     main loop ── submit(task) ──▶ queue ──▶ worker thread: task() ── completion ──▶ post ──▶ main loop
//
// `post` is given by the main loop (an eventfd, lib/bus/event.h); tests give one that runs at once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace rdmaqos {

// Runs a function on the main loop soon. Callable from any thread, also after the loop has ended (then it does
// nothing).
using Post = std::function<void(std::function<void()>)>;

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

private:
    struct State;
    std::unique_ptr<State> state_;
};

}    // namespace rdmaqos
