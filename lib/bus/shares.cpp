#include "lib/bus/shares.h"

#include <algorithm>
#include <ctime>

namespace rdmaqos::bus {
namespace {

// A user is given a tenth of the loop's time, and may be ahead by what a few dozen calls take. Beyond that it still
// gets all the time that nobody else wants.
constexpr int kPart = 10;
constexpr auto kAhead = std::chrono::milliseconds(10);
// Nobody waits long for having had much while nobody else wanted it.
constexpr auto kMostOwed = std::chrono::milliseconds(500);

}    // namespace

void Shares::pay(User& user, TimePoint now)
{
    user.owed = std::max(user.owed - (now - user.since) / kPart, Duration::zero());
    user.since = now;
}

void Shares::settle(Account account, TimePoint now)
{
    const auto found = users_.find(account);
    if (found == users_.end()) {
        return;
    }
    User& user = found->second;
    pay(user, now);
    if (user.connections == 0 && user.unfinished == 0 && user.unread == 0 && user.owed == Duration::zero()) {
        users_.erase(found);
    }
}

Duration Shares::working_time()
{
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

void Shares::spent(Account account, Duration time, TimePoint now)
{
    User& user = of(account);
    pay(user, now);
    user.owed = std::min<Duration>(user.owed + time, kMostOwed);
}

Duration Shares::owed(Account account, TimePoint now)
{
    User& user = of(account);
    pay(user, now);
    return user.owed;
}

bool Shares::is_last(Account account, TimePoint now)
{
    return owed(account, now) > kAhead;
}

void Shares::add_unfinished(User& user, std::size_t bytes)
{
    user.unfinished += bytes;
    unfinished_ += bytes;
}

void Shares::remove_unfinished(User& user, std::size_t bytes)
{
    user.unfinished -= bytes;
    unfinished_ -= bytes;
}

void Shares::add_unread(User& user, std::size_t bytes)
{
    user.unread += bytes;
    unread_ += bytes;
}

void Shares::remove_unread(User& user, std::size_t bytes)
{
    user.unread -= bytes;
    unread_ -= bytes;
}

}    // namespace rdmaqos::bus
