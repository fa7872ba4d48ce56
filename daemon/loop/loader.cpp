#include "daemon/loop/loader.h"

#include <malloc.h>

namespace rdmaqos {

Result<void> Loader::has_room(std::uint32_t uid) const
{
    const bool is_root = uid == 0;
    if (users_.contains(uid)) {
        return fail(ErrorCode::Busy, "another policy of yours is being read; try again when it is done");
    }
    if (is_root ? of_root_.size() >= kMostOfRoot : of_others_.size() >= kMostOfOthers) {
        return fail(ErrorCode::Busy, "too many policies wait to be read; try again later");
    }
    return {};
}

void Loader::enqueue(std::uint32_t uid, LoopCallback<void()> start)
{
    if (uid == 0) {
        of_root_.push_back(std::move(start));
    } else {
        of_others_.push_back(std::move(start));
        users_.insert(uid);
    }
    next();
}

void Loader::finished(std::uint32_t uid)
{
    reading_ = false;
    users_.erase(uid);
    next();
}

void Loader::next()
{
    auto& lane = of_root_.empty() ? of_others_ : of_root_;
    if (reading_ || lane.empty()) {
        return;
    }
    const LoopCallback<void()> start = std::move(lane.front());
    lane.pop_front();
    reading_ = true;
    start();
}

void Loader::discard(std::shared_ptr<const void> garbage)
{
    calls_.run(
        worker_,
        [garbage = std::move(garbage)]() mutable {
            garbage.reset();
            // The allocator keeps what was freed in the middle of its heaps, for a policy of the same size.
            malloc_trim(0);
        },
        [](const Result<void>&) {});
}

}    // namespace rdmaqos
