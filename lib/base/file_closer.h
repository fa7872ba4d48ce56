// Closes descriptors whose close may wait: the last close of a verbs file destroys what is in it, a socket may linger.
// Each user has a queue of its own and at most two threads at work on it, so whose closes hang keeps nobody else
// waiting. While no thread can be started for want of memory, what was given waits, and it is tried again every 100 ms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "lib/base/account.h"
#include "lib/base/file.h"

namespace rdmaqos {

class FileCloser {
public:
    // Starts a thread that nobody waits for; throws std::system_error if none can be had.
    using StartThread = std::function<void(std::function<void()> work)>;

    // Throws std::system_error if no thread can be had for the tries that come later.
    explicit FileCloser(StartThread start = start_detached);
    // Does not wait: what hangs is left to its thread, which ends with the process.
    ~FileCloser();
    FileCloser(const FileCloser&) = delete;
    FileCloser& operator=(const FileCloser&) = delete;

    // From any thread; returns at once. `account`: whose file it is. `held` goes when it is closed.
    void close(Account account, UniqueFd fd, std::shared_ptr<void> held = nullptr);
    // Not closed yet, of this user.
    [[nodiscard]] std::size_t pending(Account account) const;

private:
    static void start_detached(std::function<void()> work);

    struct State;
    std::shared_ptr<State> state_;
    std::thread retries_;
};

}    // namespace rdmaqos
