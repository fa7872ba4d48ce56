#include "lib/client/handle.h"

#include <csignal>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>

using rdmaqos::client::Event;
using rdmaqos::client::failure_of;

namespace rdmaqos::client {

Birthplace::Birthplace() : pid_(getpid())
{
    // A process number alone does not tell a child in another pid namespace; and nothing has to be asked of the kernel.
    const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return;
    }
    if (madvise(page, size, MADV_WIPEONFORK) != 0) {
        munmap(page, size);
        return;
    }
    mark_ = static_cast<volatile int*>(page);
    *mark_ = 1;
}

Birthplace::~Birthplace()
{
    if (mark_ != nullptr) {
        munmap(const_cast<int*>(mark_), static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));    // NOLINT: the kernel's signature
    }
}

}    // namespace rdmaqos::client

rdmaqos_handle::rdmaqos_handle(rdmaqos::client::EngineOptions options)
    : engine_(std::move(options), [this](int fd) { before_close(fd); })
{
}

rdmaqos_handle::~rdmaqos_handle()
{
    stop_thread();
}

rdmaqos_handle::Failure rdmaqos_handle::open()
{
    poll_.reset(epoll_create1(EPOLL_CLOEXEC));
    timer_.reset(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    news_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    for (const int fd : {timer_.get(), news_.get()}) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
            return failure_of(errno, "no descriptor to poll");
        }
    }
    Failure failure = engine_.connect(Deadline(engine_.options().open_timeout));
    if (failure && ((engine_.options().flags & RDMAQOS_OPEN_WITHOUT_DAEMON) == 0 || !is_loss(failure))) {
        return failure;
    }
    arm();
    return (engine_.options().flags & RDMAQOS_OPEN_THREAD) != 0 ? start_thread() : Failure{};
}

void rdmaqos_handle::leave()
{
    // Reachable, so that a leak checker does not count it.
    static rdmaqos_handle* left = nullptr;
    next_left_ = left;
    left = this;
    if (watched_ >= 0) {
        close(watched_);
    }
    poll_.reset(-1);
    timer_.reset(-1);
    news_.reset(-1);
    stop_.reset(-1);
}

rdmaqos_handle::Failure rdmaqos_handle::start_thread()
{
    stop_.reset(eventfd(0, EFD_CLOEXEC));
    if (stop_.get() < 0) {
        return failure_of(errno, "no descriptor for the thread");
    }
    // Signals are the program's business, and reach its threads.
    sigset_t all{};
    sigset_t before{};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&thread_, nullptr, &rdmaqos_handle::serve, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0) {
        return failure_of(error, "no thread");
    }
    has_thread_ = true;
    return {};
}

void rdmaqos_handle::stop_thread()
{
    if (has_thread_) {
        eventfd_write(stop_.get(), 1);
        pthread_join(thread_, nullptr);
        has_thread_ = false;
    }
}

void* rdmaqos_handle::serve(void* self) noexcept
{
    auto& handle = *static_cast<rdmaqos_handle*>(self);
    pthread_setname_np(pthread_self(), "rdmaqos");
    std::array<pollfd, 2> ready{{{handle.poll_.get(), POLLIN, 0}, {handle.stop_.get(), POLLIN, 0}}};
    while (true) {
        if (poll(ready.data(), ready.size(), -1) < 0) {
            continue;    // EINTR
        }
        if (ready[1].revents != 0) {
            return nullptr;
        }
        handle.dispatch();
    }
}

void rdmaqos_handle::before_close(int fd)
{
    // A child may have a copy of the socket: the kernel would go on to watch it.
    if (fd == watched_) {
        epoll_ctl(poll_.get(), EPOLL_CTL_DEL, fd, nullptr);
        watched_ = -1;
    }
}

void rdmaqos_handle::arm() noexcept
{
    if (const auto* connection = engine_.connection(); connection != nullptr) {
        epoll_event event{};
        event.events = EPOLLIN | ((connection->wanted_events() & POLLOUT) != 0 ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
        event.data.fd = connection->fd();
        const bool is_new = watched_ != connection->fd();
        if (is_new || event.events != watched_for_) {
            epoll_ctl(poll_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connection->fd(), &event);
            watched_ = connection->fd();
            watched_for_ = event.events;
        }
    }
    itimerspec when{};    // all 0: never
    if (const auto next = engine_.next_time()) {
        const auto since = std::max<std::chrono::nanoseconds>(next->time_since_epoch(), std::chrono::nanoseconds(1));
        when.it_value.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(since).count();
        when.it_value.tv_nsec = (since % std::chrono::seconds(1)).count();
    }
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
    if (engine_.has_events()) {
        eventfd_write(news_.get(), 1);
    }
}

int rdmaqos_handle::dispatch() noexcept
{
    std::deque<Event> events;
    const int result = take_turn([&](rdmaqos::client::Engine& engine, Deadline deadline) {
        std::uint64_t count = 0;
        static_cast<void>(!read(news_.get(), &count, sizeof(count)));     // nothing in it: fine
        static_cast<void>(!read(timer_.get(), &count, sizeof(count)));    // likewise; arm() sets it again
        engine.tend(deadline);
        events = engine.take_events();
        return static_cast<int>(events.size());
    });
    for (const Event& event : events) {
        deliver(event);
    }
    return result;
}

void rdmaqos_handle::deliver(const Event& event)
{
    rdmaqos_handler handler = nullptr;
    void* data = nullptr;
    {
        const std::lock_guard turn(handler_lock_);    // never held for long: no call waits with it
        handler = handler_;
        data = handler_data_;
    }
    if (handler == nullptr) {
        return;
    }
    rdmaqos_event told{};
    told.size = sizeof(told);
    told.type = event.type;
    told.number = event.number;
    told.device = event.device.empty() ? nullptr : event.device.c_str();
    told.message = event.message.empty() ? nullptr : event.message.c_str();
    told.grant = event.grant.get();
    handler(this, &told, data);
}

void rdmaqos_handle::set_handler(rdmaqos_handler handler, void* data)
{
    const std::lock_guard turn(handler_lock_);
    handler_ = handler;
    handler_data_ = data;
}
