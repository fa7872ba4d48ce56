// What is behind a struct rdmaqos_handle besides the engine: its lock, the descriptor to poll, the thread, and what a
// forked child may do with it.
//
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <new>

#include <pthread.h>
#include <unistd.h>

#include "lib/client/engine.h"
#include "lib/client/poll_set.h"

namespace rdmaqos::client {

// Tells the process that made it from its children.
class Birthplace {
public:
    Birthplace();
    ~Birthplace();
    Birthplace(const Birthplace&) = delete;
    Birthplace& operator=(const Birthplace&) = delete;

    [[nodiscard]] bool is_here() const { return mark_ == nullptr ? getpid() == pid_ : *mark_ == 1; }

private:
    const pid_t pid_;
    volatile int* mark_ = nullptr;    // of a page that the kernel empties in children
};

// Lets one thread after the other do something that takes its time. (A timed mutex would do, if the thread sanitizer of
// gcc 12 knew it.)
class Turns {
public:
    // False: it was not this thread's turn until then.
    [[nodiscard]] bool take(const Deadline& deadline)
    {
        std::unique_lock lock(mutex_);
        if (!is_free_.wait_until(lock, deadline.until(), [this] { return !is_taken_; })) {
            return false;
        }
        is_taken_ = true;
        return true;
    }
    void end()
    {
        {
            const std::lock_guard lock(mutex_);
            is_taken_ = false;
        }
        is_free_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable is_free_;
    bool is_taken_ = false;
};

}    // namespace rdmaqos::client

struct rdmaqos_handle {
public:
    using Deadline = rdmaqos::client::Deadline;
    using Failure = rdmaqos::client::Failure;

    explicit rdmaqos_handle(rdmaqos::client::EngineOptions options);
    // In the process that made it alone; in a child see leave().
    ~rdmaqos_handle();
    rdmaqos_handle(const rdmaqos_handle&) = delete;
    rdmaqos_handle& operator=(const rdmaqos_handle&) = delete;

    // Connects. ENOTCONN is no failure where the options say so.
    [[nodiscard]] Failure open();
    [[nodiscard]] bool is_here() const { return birthplace_.is_here(); }
    // In a child: closes its copies of the descriptors, if they are still there. The rest may have been in use by
    // another thread of the parent, and is left as it is.
    void leave();

    // Calls `function(engine, deadline)` when it is this thread's turn; it returns what the program gets.
    template <typename Function>
    int take_turn(const Function& function) noexcept;

    int dispatch() noexcept;
    void wake() noexcept;
    void set_handler(rdmaqos_handler handler, void* data);
    [[nodiscard]] int fd() const { return polls_.fd(); }

private:
    [[nodiscard]] Deadline deadline_of_call() const noexcept;
    static void* serve(void* self) noexcept;
    [[nodiscard]] Failure start_thread();
    void stop_thread();
    void before_close(int fd);
    // What to wait for, after the engine was used.
    void arm() noexcept;
    void deliver(const rdmaqos::client::Event& event);
    // The program may have closed what is ours.
    void look_after_descriptors() noexcept;

    const rdmaqos::client::Birthplace birthplace_;
    rdmaqos::client::Turns turns_;
    rdmaqos::client::PollSet polls_;
    int watched_ = -1;    // the connection's descriptor, in the set
    rdmaqos::client::FileIdentity watched_file_;
    std::uint32_t watched_for_ = 0;
    std::recursive_mutex handler_lock_;    // held while the handler runs, which may set another one
    rdmaqos_handler handler_ = nullptr;
    void* handler_data_ = nullptr;
    bool has_thread_ = false;
    std::atomic<bool> is_stopping_ = false;
    pthread_t thread_{};
    rdmaqos_handle* next_left_ = nullptr;
    rdmaqos::client::Engine engine_;    // the first to go
};

template <typename Function>
int rdmaqos_handle::take_turn(const Function& function) noexcept
{
    using rdmaqos::client::report;
    if (!is_here()) {
        return report(ECHILD, "the handle belongs to the parent process: open another one here");
    }
    const Deadline deadline = deadline_of_call();
    if (!turns_.take(deadline)) {
        return report(ETIMEDOUT, "other calls on the handle have taken all the time");
    }
    look_after_descriptors();
    int result = 0;
    try {
        result = function(engine_, deadline);
    } catch (const std::bad_alloc&) {
        result = report(ENOMEM, "out of memory");
    } catch (...) {
        result = report(EIO, "an internal error of librdmaqos");
    }
    arm();
    turns_.end();
    return result;
}
