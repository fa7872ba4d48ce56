// Reads policy texts that clients pass as descriptors. A file may lie on a file system that never answers, so each is
// read on a thread of its own, a few at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>

#include "lib/base/diagnostic.h"
#include "lib/base/executor.h"
#include "lib/base/file.h"
#include "lib/base/result.h"
#include "lib/bus/event.h"

namespace rdmaqos {

class PolicyFiles {
public:
    using Done = std::function<void(Result<std::shared_ptr<const SourceFile>>)>;

    explicit PolicyFiles(bus::EventLoop& loop) : post_(loop.poster()) {}

    // `done` is called on the loop. Busy: this user's last file is still being read, or too many are.
    void read(std::uint32_t uid, std::shared_ptr<UniqueFd> fd, Done done);

private:
    std::function<void(std::function<void()>)> post_;
    // Shared with the threads, one of which may outlive the daemon's objects.
    std::shared_ptr<std::set<std::uint32_t>> reading_ = std::make_shared<std::set<std::uint32_t>>();
};

}    // namespace rdmaqos
