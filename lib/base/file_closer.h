// Closes descriptors whose close may wait: the last close of a verbs file destroys what is in it, a socket may linger.
// Each user has a queue of its own and at most two threads at work on it, so whose closes hang keeps nobody else waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/base/file.h"

namespace rdmaqos {

class FileCloser {
public:
    FileCloser();
    // Does not wait: what hangs is left to its thread, which ends with the process.
    ~FileCloser() = default;
    FileCloser(const FileCloser&) = delete;
    FileCloser& operator=(const FileCloser&) = delete;

    // From any thread; returns at once. `uid`: whose file it is.
    void close(std::uint32_t uid, UniqueFd fd);
    // Not closed yet, of this user.
    [[nodiscard]] std::size_t pending(std::uint32_t uid) const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}    // namespace rdmaqos
