#include "daemon/end_in_time.h"

#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/log.h"

namespace rdmaqos {

EndInTime::EndInTime(std::chrono::milliseconds limit) : limit_(limit) {}

EndInTime::~EndInTime()
{
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
    }
    changed_.notify_one();
    if (watcher_.joinable()) {
        watcher_.join();
    }
}

void EndInTime::begin(int status)
{
    watcher_ = std::thread([this, status] { watch(status); });
}

void EndInTime::watch(int status)
{
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, limit_, [this] { return ended_; })) {
        return;
    }
    log(LogLevel::Error, "a device or a file system does not answer: the program exits without waiting for it");
    _exit(status);
}

}    // namespace rdmaqos
