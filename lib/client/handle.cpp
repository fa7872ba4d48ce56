#include "lib/client/handle.h"

#include <csignal>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "lib/client/internal.h"

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
        munmap(const_cast<int*>(mark_),
               static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));    // NOLINT: the kernel's signature
    }
}

}    // namespace rdmaqos::client

namespace {

thread_local std::uint32_t most_ms = 0;    // that calls of this thread wait

}    // namespace

void rdmaqos_wait_at_most(std::uint32_t milliseconds)
{
    most_ms = milliseconds;
}

void rdmaqos_wake(rdmaqos_handle* handle)
{
    handle->wake();
}

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
    const bool with_thread = (engine_.options().flags & RDMAQOS_OPEN_THREAD) != 0;
    if (Failure failure = polls_.open(with_thread)) {
        return failure;
    }
    Failure failure = engine_.connect(Deadline(engine_.options().open_timeout));
    if (failure && ((engine_.options().flags & RDMAQOS_OPEN_WITHOUT_DAEMON) == 0 || !is_loss(failure))) {
        return failure;
    }
    arm();
    return with_thread ? start_thread() : Failure{};
}

void rdmaqos_handle::leave()
{
    // Reachable, so that a leak checker does not count it.
    static rdmaqos_handle* left = nullptr;
    next_left_ = left;
    left = this;
    if (watched_ >= 0 && rdmaqos::client::is_same_file(watched_, watched_file_)) {
        close(watched_);
    }
    watched_ = -1;
    polls_.give_up();
}

rdmaqos_handle::Failure rdmaqos_handle::start_thread()
{
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
    if (!has_thread_) {
        return;
    }
    is_stopping_ = true;
    if (turns_.take(Deadline(engine_.options().timeout))) {    // else the thread itself has it, and will see
        polls_.stop();
        turns_.end();
    }
    pthread_join(thread_, nullptr);
    has_thread_ = false;
}

void* rdmaqos_handle::serve(void* self) noexcept
{
    // Descriptors that the program has closed wake nobody.
    constexpr int kLookAgainMs = 5000;
    auto& handle = *static_cast<rdmaqos_handle*>(self);
    pthread_setname_np(pthread_self(), "rdmaqos");
    while (!handle.is_stopping_) {
        std::array<pollfd, 2> ready{{{handle.polls_.fd(), POLLIN, 0}, {handle.polls_.stop_fd(), POLLIN, 0}}};
        if (poll(ready.data(), ready.size(), kLookAgainMs) >= 0 && !handle.is_stopping_) {
            handle.dispatch();
        }
    }
    return nullptr;
}

void rdmaqos_handle::before_close(int fd)
{
    // A child may have a copy of the socket: the kernel would go on to watch it.
    if (fd == watched_) {
        polls_.unwatch(fd);
        watched_ = -1;
    }
}

void rdmaqos_handle::look_after_descriptors() noexcept
{
    try {
        if (polls_.was_renewed()) {
            watched_ = -1;
        }
    } catch (...) {    // no memory for words that nobody reads
        return;
    }
}

void rdmaqos_handle::arm() noexcept
{
    if (const auto* connection = engine_.connection(); connection != nullptr) {
        const std::uint32_t events = EPOLLIN | ((connection->wanted_events() & POLLOUT) != 0
                                                    ? static_cast<std::uint32_t>(EPOLLOUT)
                                                    : 0U);
        const bool is_new = watched_ != connection->fd();
        if (is_new || events != watched_for_) {
            polls_.watch(connection->fd(), events, is_new);
            watched_ = connection->fd();
            watched_file_ = connection->identity();
            watched_for_ = events;
        }
    }
    polls_.wake_at(engine_.next_time());
    if (engine_.has_events()) {
        polls_.wake();
    }
}

rdmaqos_handle::Deadline rdmaqos_handle::deadline_of_call() const noexcept
{
    const Deadline whole(engine_.options().timeout);
    return most_ms == 0 ? whole : whole.within(std::chrono::milliseconds(most_ms));
}

void rdmaqos_handle::wake() noexcept
{
    static_cast<void>(take_turn([this](rdmaqos::client::Engine&, Deadline) {
        polls_.wake();
        return 0;
    }));
}

int rdmaqos_handle::dispatch() noexcept
{
    std::deque<Event> events;
    const int result = take_turn([&](rdmaqos::client::Engine& engine, Deadline deadline) {
        polls_.clear();
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
    const std::lock_guard turn(handler_lock_);
    if (handler_ == nullptr) {
        return;
    }
    rdmaqos_event described{};
    described.size = sizeof(described);
    described.type = event.type;
    described.number = event.number;
    described.device = event.device.empty() ? nullptr : event.device.c_str();
    described.message = event.message.empty() ? nullptr : event.message.c_str();
    described.grant = event.grant.get();
    handler_(this, &described, handler_data_);
}

void rdmaqos_handle::set_handler(rdmaqos_handler handler, void* data)
{
    const std::lock_guard turn(handler_lock_);
    handler_ = handler;
    handler_data_ = data;
}
