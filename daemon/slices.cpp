#include "daemon/slices.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

constexpr std::size_t kAtOnce = 2;
constexpr std::size_t kMostWaiting = 64;

}    // namespace

void in_slices(Executor& loop, Step step)
{
    const auto end = std::chrono::steady_clock::now() + kSlice;
    while (step()) {
        if (std::chrono::steady_clock::now() >= end) {
            loop.post_last([&loop, rest = std::move(step)]() mutable { in_slices(loop, std::move(rest)); });
            return;
        }
    }
}

Result<void> LongAnswers::write(std::uint32_t uid, std::function<Step()> begin)
{
    User& user = users_[uid];
    if (user.running < kAtOnce) {
        start(uid, begin);
        return {};
    }
    if (user.waiting.size() >= kMostWaiting) {
        return fail(ErrorCode::LimitReached, fmt::format("{} long answers of user {} wait; wait for them", kMostWaiting, uid));
    }
    user.waiting.push_back(std::move(begin));
    return {};
}

void LongAnswers::start(std::uint32_t uid, const std::function<Step()>& begin)
{
    ++users_[uid].running;
    in_slices(loop_, [this, uid, step = begin()] {
        if (step()) {
            return true;
        }
        // Not from here: the next may be short, and so on.
        loop_.post([this, uid] { ended(uid); });
        return false;
    });
}

void LongAnswers::ended(std::uint32_t uid)
{
    const auto user = users_.find(uid);
    --user->second.running;
    if (!user->second.waiting.empty()) {
        const auto next = std::move(user->second.waiting.front());
        user->second.waiting.pop_front();
        start(uid, next);
    } else if (user->second.running == 0) {
        users_.erase(user);
    }
}

}    // namespace rdmaqos
