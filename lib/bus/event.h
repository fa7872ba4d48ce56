// The main loop: an sd-event loop as an Executor, with what a daemon listens to.
//
// Thread: everything but post() and what poster() returned belongs to the thread that runs the loop. A callback may
// destroy its own source or timer. Exceptions of a callback are logged; they never end the loop.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include <systemd/sd-event.h>

#include "lib/base/executor.h"
#include "lib/base/result.h"

namespace rdmaqos::bus {

// Something the loop listens to; destroying it ends that.
class EventSource {
public:
    virtual ~EventSource() = default;
};

// Listens to a descriptor (which must outlive it) for epoll events that can be changed.
class IoSource : public EventSource {
public:
    virtual void set_events(std::uint32_t events) = 0;
};

// A timer that can be set again and again.
class Alarm : public EventSource {
public:
    static constexpr std::uint64_t kNever = UINT64_MAX;
    // At this CLOCK_MONOTONIC time in microseconds; 0: at once.
    virtual void set(std::uint64_t usec) = 0;
};

// As the kernel says.
struct SignalSender {
    std::uint32_t pid = 0;    // 0: the kernel
    std::uint32_t uid = 0;
};

class EventLoop final : public Executor {
public:
    // Throws std::system_error: without a loop there is no daemon.
    EventLoop();
    ~EventLoop() override;
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    void post(std::function<void()> function) override;
    // The same, when nothing else is ready.
    void post_last(std::function<void()> function);
    [[nodiscard]] std::unique_ptr<Timer> after(Duration delay, std::function<void()> function) override;
    // post() as a function that may outlive the loop: then it does nothing.
    [[nodiscard]] std::function<void(std::function<void()>)> poster() const;

    // `function` gets the epoll events that are there.
    [[nodiscard]] Result<std::unique_ptr<IoSource>> on_io(int fd, std::uint32_t events,
                                                          std::function<void(std::uint32_t)> function);
    // The signal must be blocked in every thread (block_signals).
    [[nodiscard]] Result<std::unique_ptr<EventSource>> on_signal(int signal,
                                                                 std::function<void(SignalSender)> function);
    // Once, when the process behind a pidfd has ended.
    [[nodiscard]] Result<std::unique_ptr<EventSource>> on_exit_of(int pidfd, std::function<void()> function);
    [[nodiscard]] Result<std::unique_ptr<Alarm>> on_alarm(std::function<void()> function);
    // Something in a directory was written, created, removed or renamed: `function` gets its name; an empty one when
    // events were lost, so that anything may have happened, or when the directory itself has gone: then nothing more
    // comes. What a symbolic link in it points to is not watched.
    [[nodiscard]] Result<std::unique_ptr<EventSource>> on_directory(const std::filesystem::path& directory,
                                                                    std::function<void(std::string_view)> function);

    // Runs until exit(); returns what exit() was given.
    int run();
    void exit(int status);
    // One round: waits at most `timeout` for something to do. For tests.
    void run_once(Duration timeout);

private:
    struct Inbox;
    struct State;
    void open_inbox(Inbox& inbox, Duration turn, std::int64_t priority);

    std::unique_ptr<State> state_;
};

// Runs a callback; an exception of it ends here, in the log.
void run_guarded(const std::function<void()>& function) noexcept;

// Blocks signals in this thread and those it will start.
void block_signals(std::initializer_list<int> signals);

}    // namespace rdmaqos::bus
