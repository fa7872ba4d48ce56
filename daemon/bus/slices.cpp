#include "daemon/bus/slices.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

constexpr std::size_t kAtOnce = 2;
constexpr std::size_t kMostWaitingAnswers = 64;

}    // namespace

Result<void> LongAnswers::write(std::uint32_t uid, std::function<Step()> begin)
{
    User& user = users_[uid];
    if (user.running < kAtOnce) {
        start(uid, std::move(begin));
        return {};
    }
    if (user.waiting.size() >= kMostWaitingAnswers) {
        return fail(ErrorCode::LimitReached,
                    fmt::format("{} long answers to user {} are pending; wait for them", kMostWaitingAnswers, uid));
    }
    user.waiting.push_back(std::move(begin));
    return {};
}

void LongAnswers::start(std::uint32_t uid, std::function<Step()> begin)
{
    ++users_[uid].running;
    turns_.queue(uid, [this, uid, begin = std::move(begin)] { go_on(uid, begin()); });
}

void LongAnswers::go_on(std::uint32_t uid, Step step)
{
    const auto end = std::chrono::steady_clock::now() + kSlice;
    bool more = true;
    try {
        while (more && std::chrono::steady_clock::now() < end) {
            more = step();
        }
    } catch (...) {
        ended(uid);
        throw;
    }
    if (!more) {
        ended(uid);
        return;
    }
    turns_.queue(uid, [this, uid, step = std::move(step)]() mutable { go_on(uid, std::move(step)); });
}

void LongAnswers::ended(std::uint32_t uid)
{
    const auto user = users_.find(uid);
    --user->second.running;
    if (!user->second.waiting.empty()) {
        auto next = std::move(user->second.waiting.front());
        user->second.waiting.pop_front();
        start(uid, std::move(next));
    } else if (user->second.running == 0) {
        users_.erase(user);
    }
}

}    // namespace rdmaqos
