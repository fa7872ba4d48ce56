#include "lib/bus/turns.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>

#include <sys/epoll.h>

#include "lib/base/file.h"
#include "lib/base/try.h"

namespace rdmaqos::bus {
namespace {

constexpr auto kUserTurn = std::chrono::microseconds(500);
// Who is last has a turn each so often, even while others always have something to do.
constexpr auto kLongestWait = std::chrono::milliseconds(2);

using Callback = std::function<void(std::uint32_t)>;

}    // namespace

struct Turns::User {
    Account account = 0;
    UniqueFd poll;
    std::unique_ptr<IoSource> source;    // the loop's look at `poll`
    std::uint64_t next_key = 0;
    std::unordered_map<std::uint64_t, std::shared_ptr<Callback>> callbacks;
    std::deque<std::function<void()>> work;
    bool scheduled = false;    // has a turn to come, and `source` is off until then
    bool served = false;       // at this moment

    bool do_next()
    {
        if (work.empty()) {
            return false;
        }
        const auto next = std::move(work.front());
        work.pop_front();
        run_guarded(next);
        return true;
    }
    // One descriptor at a time: the kernel puts it behind the others that are ready.
    bool look()
    {
        epoll_event event{};
        if (callbacks.empty() || epoll_wait(poll.get(), &event, 1, 0) <= 0) {
            return false;
        }
        const auto found = callbacks.find(event.data.u64);
        if (found != callbacks.end()) {
            const auto callback = found->second;    // may destroy its source
            run_guarded([&] { (*callback)(event.events); });
        }
        return true;
    }
};

class Turns::Source final : public IoSource {
public:
    Source(Turns& turns, std::shared_ptr<User> user, int fd) : turns_(turns), user_(std::move(user)), fd_(fd) {}
    ~Source() override
    {
        if (user_->callbacks.erase(key_) > 0) {
            epoll_ctl(user_->poll.get(), EPOLL_CTL_DEL, fd_, nullptr);
        }
        turns_.forget_idle(*user_);
    }
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    [[nodiscard]] Result<void> start(std::uint32_t events, Callback function)
    {
        key_ = user_->next_key++;
        epoll_event event{events, {.u64 = key_}};
        if (epoll_ctl(user_->poll.get(), EPOLL_CTL_ADD, fd_, &event) < 0) {
            return fail(error_from_errno(ErrorCode::Internal, errno, "a descriptor cannot be watched"));
        }
        user_->callbacks.emplace(key_, std::make_shared<Callback>(std::move(function)));
        return {};
    }
    void set_events(std::uint32_t events) override
    {
        epoll_event event{events, {.u64 = key_}};
        epoll_ctl(user_->poll.get(), EPOLL_CTL_MOD, fd_, &event);
    }

private:
    Turns& turns_;
    std::shared_ptr<User> user_;
    int fd_;
    std::uint64_t key_ = 0;
};

Turns::Turns(EventLoop& loop) : loop_(loop) {}

Turns::~Turns() = default;

Result<std::shared_ptr<Turns::User>> Turns::user(Account account)
{
    if (const auto found = users_.find(account); found != users_.end()) {
        return found->second;
    }
    auto user = std::make_shared<User>();
    user->account = account;
    user->poll = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
    if (!user->poll) {
        return fail(error_from_errno(ErrorCode::Internal, errno, "the connections of a user cannot be watched"));
    }
    auto source = loop_.on_io(user->poll.get(), EPOLLIN, [this, weak = std::weak_ptr(user)](std::uint32_t) {
        if (const auto self = weak.lock()) {
            ready(self);
        }
    });
    if (!source) {
        return fail(std::move(source).error());
    }
    user->source = std::move(*source);
    users_.emplace(account, user);
    return user;
}

Result<std::unique_ptr<IoSource>> Turns::on_io(Account account, int fd, std::uint32_t events, Callback function)
{
    auto of = TRY(user(account));
    auto source = std::make_unique<Source>(*this, std::move(of), fd);
    TRY(source->start(events, std::move(function)));
    return source;
}

void Turns::queue(Account account, std::function<void()> work)
{
    const auto of = user(account);
    if (!of) {
        loop_.post(std::move(work));    // without a descriptor for the poll: what was promised is done all the same
        return;
    }
    (*of)->work.push_back(std::move(work));
    if (!(*of)->served) {
        schedule(*of);
    }
}

void Turns::ready(const std::shared_ptr<User>& user)
{
    if (shares_.is_last(user->account, SteadyClock().now())) {
        schedule(user);
    } else {
        take_turn(user);
        give_way();
    }
}

void Turns::schedule(const std::shared_ptr<User>& user)
{
    if (std::exchange(user->scheduled, true)) {
        return;
    }
    user->source->set_events(0);
    if (!shares_.is_last(user->account, SteadyClock().now())) {
        loop_.post([this, weak = std::weak_ptr(user)] {
            if (const auto self = weak.lock()) {
                take_turn(self);
                give_way();
            }
        });
        return;
    }
    if (last_.empty()) {
        last_served_ = SteadyClock().now();
    }
    last_.emplace(user->account, user);
    wait_for_the_last();
}

void Turns::take_turn(const std::shared_ptr<User>& user)
{
    const auto begin = Shares::working_time();
    const auto end = SteadyClock().now() + kUserTurn;
    user->served = true;
    const bool was_off = std::exchange(user->scheduled, false);
    bool more = false;
    do {
        const bool done = user->do_next();
        more = user->look() || done;
    } while (more && SteadyClock().now() < end);
    user->served = false;
    shares_.spent(user->account, Shares::working_time() - begin, SteadyClock().now());
    if (more) {
        schedule(user);
    } else if (was_off) {
        user->source->set_events(EPOLLIN);
    }
    forget_idle(*user);
}

void Turns::wait_for_the_last()
{
    if (std::exchange(posted_, true)) {
        return;
    }
    loop_.post_last([this, alive = std::weak_ptr<int>(alive_)] {
        if (alive.expired()) {
            return;
        }
        posted_ = false;
        if (!last_.empty()) {
            serve_the_last();
        }
        if (!last_.empty()) {
            wait_for_the_last();
        }
    });
}

void Turns::give_way()
{
    if (!last_.empty() && SteadyClock().now() - last_served_ >= kLongestWait) {
        serve_the_last();
    }
}

void Turns::serve_the_last()
{
    const auto now = SteadyClock().now();
    const auto next = std::ranges::min_element(last_, {},
                                               [&](const auto& user) { return shares_.owed(user.first, now); });
    const auto user = next->second;
    last_.erase(next);
    take_turn(user);
    last_served_ = SteadyClock().now();
}

void Turns::forget_idle(const User& user)
{
    if (user.callbacks.empty() && user.work.empty() && !user.scheduled && !user.served) {
        users_.erase(user.account);
    }
}

}    // namespace rdmaqos::bus
