#include "lib/client/poll_set.h"

#include <algorithm>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace rdmaqos::client {

Failure PollSet::open(bool with_stop)
{
    with_stop_ = with_stop;
    epoll_.reset(above_stdio(epoll_create1(EPOLL_CLOEXEC)));
    if (epoll_.get() < 0) {
        return failure_of(errno, "no descriptor to poll can be made");
    }
    mark_.reset(above_stdio(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
    timer_.reset(above_stdio(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)));
    news_.reset(above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
    if (with_stop) {
        stop_.reset(above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
    }
    for (const Descriptor* each : {&mark_, &timer_, &news_, &stop_}) {
        const bool is_wanted = each != &stop_ || with_stop;
        if (is_wanted && (each->get() < 0 || !control(EPOLL_CTL_ADD, *each))) {
            return failure_of(errno, "no descriptor for events can be made");
        }
    }
    return {};
}

bool PollSet::control(int operation, const Descriptor& part) const
{
    epoll_event event{};
    event.events = &part == &mark_ || &part == &stop_ ? 0U : EPOLLIN;
    event.data.fd = part.get();
    return epoll_ctl(epoll_.get(), operation, part.get(), &event) == 0;
}

// Writes what is there already; ENOENT in another epoll, and for another file.
bool PollSet::is_in(const Descriptor& part) const
{
    return control(EPOLL_CTL_MOD, part);
}

bool PollSet::has_mark() const
{
    return mark_.is_ours() && is_in(mark_);
}

bool PollSet::is_ours() const
{
    return has_mark() && is_in(timer_) && is_in(news_) && (!with_stop_ || is_in(stop_));
}

void PollSet::give_up()
{
    const bool is_our_epoll = has_mark();
    for (Descriptor* each : {&timer_, &news_, &stop_}) {
        if (is_our_epoll && is_in(*each)) {
            each->reset(-1);
        }
        each->forget();    // rather left open than a descriptor of the program's closed
    }
    if (is_our_epoll) {
        epoll_.reset(-1);
    }
    epoll_.forget();
    mark_.reset(-1);
}

bool PollSet::was_renewed()
{
    if (is_ours()) {
        return false;
    }
    give_up();
    if (open(with_stop_)) {
        give_up();    // tried again next time
    }
    return true;
}

void PollSet::watch(int fd, std::uint32_t events, bool is_new) const
{
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    epoll_ctl(epoll_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
}

void PollSet::unwatch(int fd) const
{
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void PollSet::wake_at(const std::optional<std::chrono::steady_clock::time_point>& when) const
{
    itimerspec time{};    // all 0: never
    if (when) {
        const auto since = std::max<std::chrono::nanoseconds>(when->time_since_epoch(), std::chrono::nanoseconds(1));
        time.it_value.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(since).count();
        time.it_value.tv_nsec = (since % std::chrono::seconds(1)).count();
    }
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &time, nullptr);
}

void PollSet::wake() const
{
    eventfd_write(news_.get(), 1);
}

void PollSet::clear() const
{
    std::uint64_t count = 0;
    static_cast<void>(!read(news_.get(), &count, sizeof(count)));     // nothing in it: fine
    static_cast<void>(!read(timer_.get(), &count, sizeof(count)));    // likewise; wake_at() sets it again
}

void PollSet::stop() const
{
    if (stop_.is_ours()) {
        eventfd_write(stop_.get(), 1);
    }
}

}    // namespace rdmaqos::client
