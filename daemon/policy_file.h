// Reads policy texts that clients pass as descriptors. A file may lie on a file system that never answers, so each is
// read on a thread of its own, a few at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

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

    // `done` is called and destroyed on the loop. Busy: this user's last file is still being read, or too many are.
    void read(std::uint32_t uid, std::shared_ptr<UniqueFd> fd, Done done);

private:
    std::function<void(std::function<void()>)> post_;
    // By user. Only the loop looks into it; what it posts may outlive this object.
    std::shared_ptr<std::map<std::uint32_t, Done>> reading_ = std::make_shared<std::map<std::uint32_t, Done>>();
};

}    // namespace rdmaqos
