// The end of the program, within a time limit.
//
// When the loop has ended, destructors end threads in order: what is queued is done, devices and files are closed, and
// each thread is joined. A thread may never come to its end: it waits in an ioctl for firmware that answers nothing, or
// for a file system that does not. It cannot be cancelled, and it must not be left alone either, while what it uses is
// destroyed around it. So nothing is destroyed that a thread may still use; when time is up the whole process goes, by
// _exit(), in the middle of the orderly end. There is nothing left then that it could save: the devices were drained,
// or did not answer; state files are replaced as a whole; log lines are written when they are made.
//
// The kernel keeps a process whose thread cannot be interrupted until the driver returns. That is beyond any program.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace rdmaqos {

class EndInTime {
public:
    // Not yet begun.
    explicit EndInTime(std::chrono::milliseconds limit);
    // The end has come in time.
    ~EndInTime();
    EndInTime(const EndInTime&) = delete;
    EndInTime& operator=(const EndInTime&) = delete;

    // From now on. `status`: what the program ends with.
    void begin(int status);

private:
    void watch(int status);

    const std::chrono::milliseconds limit_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ended_ = false;
    std::thread watcher_;
};

}    // namespace rdmaqos
