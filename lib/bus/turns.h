// Who is served next among those who have had more than their part of the loop's time: the one who has had the least of it
// lately, and only when nobody else waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "lib/base/executor.h"
#include "lib/bus/shares.h"

namespace rdmaqos::bus {

class Turns {
public:
    Turns(Executor& loop, Shares& shares) : loop_(loop), shares_(shares) {}

    // Runs `work` when it is this user's turn; what it costs is to be told to the shares.
    void queue(std::uint32_t uid, std::function<void()> work);

private:
    void arm();
    void run_next();

    Executor& loop_;
    Shares& shares_;
    std::map<std::uint32_t, std::deque<std::function<void()>>> waiting_;    // by user, none empty
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}    // namespace rdmaqos::bus
