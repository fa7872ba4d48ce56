#include "daemon/loop/loader.h"

#include <malloc.h>

namespace rdmaqos {

Result<void> Loader::has_room(Account account) const
{
    const bool is_root = account.is_root();
    if (users_.contains(account)) {
        return fail(ErrorCode::Busy, "another policy of yours is being read; try again when it is done");
    }
    if (is_root ? of_root_.size() >= kMostOfRoot : of_others_.size() >= kMostOfOthers) {
        return fail(ErrorCode::Busy, "too many policies wait to be read; try again later");
    }
    return {};
}

void Loader::enqueue(Account account, LoopCallback<void()> start)
{
    if (account.is_root()) {
        of_root_.push_back(std::move(start));
    } else {
        of_others_.push_back(std::move(start));
        users_.insert(account);
    }
    next();
}

void Loader::finished(Account account)
{
    (account.is_root() ? reading_of_root_ : reading_of_others_) = false;
    users_.erase(account);
    next();
}

void Loader::next()
{
    start_first(of_root_, reading_of_root_);
    start_first(of_others_, reading_of_others_);
}

void Loader::start_first(std::deque<LoopCallback<void()>>& lane, bool& reading)
{
    if (reading || lane.empty()) {
        return;
    }
    const LoopCallback<void()> start = std::move(lane.front());
    lane.pop_front();
    reading = true;
    start();
}

void Loader::discard(std::shared_ptr<const void> garbage)
{
    calls_.run(
        worker_of_others_,
        [garbage = std::move(garbage)]() mutable {
            garbage.reset();
            // The allocator keeps what was freed in the middle of its heaps, for a policy of the same size.
            malloc_trim(0);
        },
        [](const Result<void>&) {});
}

}    // namespace rdmaqos
