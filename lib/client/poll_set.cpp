#include "lib/client/poll_set.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <string_view>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace rdmaqos::client {
namespace {

// Not 0, which everybody has.
std::uint64_t random_mark()
{
    std::uint64_t mark = 0;
    if (getrandom(&mark, sizeof(mark), GRND_NONBLOCK) != static_cast<ssize_t>(sizeof(mark))) {
        mark = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    }
    return mark | 1;
}

}    // namespace

Failure PollSet::open(bool with_stop)
{
    mark_ = random_mark();
    with_stop_ = with_stop;
    epoll_.reset(above_stdio(epoll_create1(EPOLL_CLOEXEC)));
    if (epoll_.get() < 0) {
        return failure_of(errno, "no descriptor to poll can be made");
    }
    timer_.reset(above_stdio(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)));
    if (timer_.get() < 0 || !add(EPOLL_CTL_ADD, timer_, EPOLLIN)) {
        return failure_of(errno, "no timer can be made");
    }
    news_.reset(above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
    if (news_.get() < 0 || !add(EPOLL_CTL_ADD, news_, EPOLLIN)) {
        return failure_of(errno, "no descriptor for events can be made");
    }
    if (with_stop) {
        stop_.reset(above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
        if (stop_.get() < 0 || !add(EPOLL_CTL_ADD, stop_, 0)) {
            return failure_of(errno, "no descriptor for the thread can be made");
        }
    }
    return {};
}

bool PollSet::add(int operation, const Descriptor& part, std::uint32_t events) const
{
    epoll_event event{};
    event.events = events;
    event.data.u64 = mark_;
    return epoll_ctl(epoll_.get(), operation, part.get(), &event) == 0;
}

PollSet::Whose PollSet::whose_epoll() const
{
    std::array<char, 64> path{};
    snprintf(path.data(), path.size(), "/proc/self/fdinfo/%d", epoll_.get());
    const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        // Without the file there is no such descriptor; without its folder there is no /proc.
        return errno == ENOENT && access("/proc/self/fdinfo", X_OK) == 0 ? Whose::NotOurs : Whose::Unknown;
    }
    std::array<char, 1024> text{};    // a line each for at most five
    const ssize_t length = read(fd, text.data(), text.size());
    close(fd);
    std::array<char, 32> mark{};
    snprintf(mark.data(), mark.size(), "%" PRIx64, mark_);
    const std::string_view all(text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    return all.find(mark.data()) != std::string_view::npos ? Whose::Ours : Whose::NotOurs;
}

PollSet::Whose PollSet::whose() const
{
    const bool could_be = epoll_.is_ours() && timer_.is_ours() && news_.is_ours() && (!with_stop_ || stop_.is_ours());
    const Whose epoll = could_be ? whose_epoll() : Whose::NotOurs;
    if (epoll != Whose::Ours) {
        return epoll;
    }
    // Changes nothing, and fails for another file under the same number.
    const bool has_all = add(EPOLL_CTL_MOD, timer_, EPOLLIN) && add(EPOLL_CTL_MOD, news_, EPOLLIN) &&
                         (!with_stop_ || add(EPOLL_CTL_MOD, stop_, 0));
    return has_all ? Whose::Ours : Whose::NotOurs;
}

void PollSet::give_up(bool also_unknown)
{
    const Whose epoll = epoll_.is_ours() ? whose_epoll() : Whose::NotOurs;
    const bool by_identity = epoll == Whose::Unknown && also_unknown;
    for (Descriptor* each : {&timer_, &news_, &stop_}) {
        if (by_identity || (epoll == Whose::Ours && add(EPOLL_CTL_MOD, *each, each == &stop_ ? 0U : EPOLLIN))) {
            each->reset(-1);
        }
        each->forget();    // rather left open than a descriptor of the program's closed
    }
    if (by_identity || epoll == Whose::Ours) {
        epoll_.reset(-1);
    }
    epoll_.forget();
}

bool PollSet::was_renewed()
{
    if (whose() != Whose::NotOurs) {
        return false;
    }
    give_up(false);
    if (open(with_stop_)) {
        give_up(true);    // tried again next time
    }
    return true;
}

void PollSet::watch(int fd, std::uint32_t events, bool is_new) const
{
    epoll_event event{};
    event.events = events;
    event.data.u64 = mark_;
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
