// Closes descriptors where it may take long: the last close of a verbs file destroys all its objects and unpins its
// memory in the closing thread. Several threads, so that one slow close does not hold up the others.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "lib/base/file.h"
#include "lib/reconcile/worker.h"

namespace rdmaqos {

class FileCloser {
public:
    FileCloser();

    // From any thread; returns at once.
    void close(UniqueFd fd);

private:
    static constexpr std::size_t kThreads = 4;
    struct Lane {
        std::atomic<std::size_t> closing = 0;    // the one at work included
        std::unique_ptr<Worker> worker;
    };
    std::array<Lane, kThreads> lanes_;
};

}    // namespace rdmaqos
