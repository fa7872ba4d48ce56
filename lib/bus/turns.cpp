#include "lib/bus/turns.h"

#include <algorithm>
#include <utility>

namespace rdmaqos::bus {

void Turns::queue(std::uint32_t uid, std::function<void()> work)
{
    const bool idle = waiting_.empty();
    waiting_[uid].push_back(std::move(work));
    if (idle) {
        arm();
    }
}

void Turns::arm()
{
    loop_.post_last([this, alive = std::weak_ptr<int>(alive_)] {
        if (!alive.expired()) {
            run_next();
        }
    });
}

void Turns::run_next()
{
    const auto now = SteadyClock().now();
    const auto next = std::ranges::min_element(waiting_, {}, [&](const auto& user) { return shares_.owed(user.first, now); });
    const auto work = std::move(next->second.front());
    next->second.pop_front();
    if (next->second.empty()) {
        waiting_.erase(next);
    }
    if (!waiting_.empty()) {
        arm();
    }
    work();
}

}    // namespace rdmaqos::bus
