#include "daemon/bus/slices.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

constexpr std::size_t kAtOnce = 2;
constexpr std::size_t kMostWaitingAnswers = 64;

}    // namespace

Result<void> LongAnswers::write(Account account, std::function<Step()> begin)
{
    User& user = users_[account];
    if (user.running < kAtOnce) {
        start(account, std::move(begin));
        return {};
    }
    if (user.waiting.size() >= kMostWaitingAnswers) {
        return fail(ErrorCode::LimitReached, fmt::format("{} long answers to user {} are pending; wait for them",
                                                         kMostWaitingAnswers, account.uid()));
    }
    user.waiting.push_back(std::move(begin));
    return {};
}

void LongAnswers::start(Account account, std::function<Step()> begin)
{
    ++users_[account].running;
    turns_.queue(account, [this, account, begin = std::move(begin)] { go_on(account, begin()); });
}

void LongAnswers::go_on(Account account, Step step)
{
    const auto end = std::chrono::steady_clock::now() + kSlice;
    bool more = true;
    try {
        while (more && std::chrono::steady_clock::now() < end) {
            more = step();
        }
    } catch (...) {
        ended(account);
        throw;
    }
    if (!more) {
        ended(account);
        return;
    }
    turns_.queue(account, [this, account, step = std::move(step)]() mutable { go_on(account, std::move(step)); });
}

void LongAnswers::ended(Account account)
{
    const auto user = users_.find(account);
    --user->second.running;
    if (!user->second.waiting.empty()) {
        auto next = std::move(user->second.waiting.front());
        user->second.waiting.pop_front();
        start(account, std::move(next));
    } else if (user->second.running == 0) {
        users_.erase(user);
    }
}

}    // namespace rdmaqos
