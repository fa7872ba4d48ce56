#include "lib/bus/event.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/log.h"

namespace rdmaqos::bus {
namespace {

struct EventUnref {
    void operator()(sd_event* event) const noexcept { sd_event_unref(event); }
};
struct SourceUnref {
    void operator()(sd_event_source* source) const noexcept { sd_event_source_disable_unref(source); }
};
using EventPtr = std::unique_ptr<sd_event, EventUnref>;
using SourcePtr = std::unique_ptr<sd_event_source, SourceUnref>;

// The one place where exceptions of callbacks end.
template <typename Function, typename... Args>
void guarded(const Function& function, Args... args) noexcept
{
    try {
        function(args...);
    } catch (const std::exception& error) {
        try {
            log(LogLevel::Error, "a callback of the main loop failed: {}", error.what());
        } catch (...) {    // NOLINT(bugprone-empty-catch): nothing is left to do, and the loop must go on
        }
    } catch (...) {
        write_log(LogLevel::Error, {}, "a callback of the main loop failed");
    }
}

// A callback that may destroy the source it belongs to while it runs: the trampoline holds it meanwhile.
template <typename Signature>
using SharedCallback = std::shared_ptr<std::function<Signature>>;

class Io final : public IoSource {
public:
    explicit Io(std::function<void(std::uint32_t)> function)
        : function_(std::make_shared<std::function<void(std::uint32_t)>>(std::move(function)))
    {
    }
    int start(sd_event* event, int fd, std::uint32_t events)
    {
        sd_event_source* raw = nullptr;
        const int result = sd_event_add_io(event, &raw, fd, events, &Io::ready, this);
        source_.reset(raw);
        return result;
    }
    int set_once() { return sd_event_source_set_enabled(source_.get(), SD_EVENT_ONESHOT); }
    int set_priority(std::int64_t priority) { return sd_event_source_set_priority(source_.get(), priority); }
    void set_events(std::uint32_t events) override { sd_event_source_set_io_events(source_.get(), events); }

private:
    static int ready(sd_event_source*, int, std::uint32_t events, void* userdata) noexcept
    {
        const auto function = static_cast<Io*>(userdata)->function_;
        guarded(*function, events);
        return 0;
    }

    SharedCallback<void(std::uint32_t)> function_;
    SourcePtr source_;
};

class SignalSource final : public EventSource {
public:
    explicit SignalSource(std::function<void(SignalSender)> function)
        : function_(std::make_shared<std::function<void(SignalSender)>>(std::move(function)))
    {
    }
    int start(sd_event* event, int signal)
    {
        sd_event_source* raw = nullptr;
        const int result = sd_event_add_signal(event, &raw, signal, &SignalSource::ready, this);
        source_.reset(raw);
        return result;
    }

private:
    static int ready(sd_event_source*, const signalfd_siginfo* info, void* userdata) noexcept
    {
        const auto function = static_cast<SignalSource*>(userdata)->function_;
        guarded(*function, SignalSender{info->ssi_pid, info->ssi_uid});
        return 0;
    }

    SharedCallback<void(SignalSender)> function_;
    SourcePtr source_;
};

class Directory final : public EventSource {
public:
    explicit Directory(std::function<void(std::string_view)> function)
        : function_(std::make_shared<std::function<void(std::string_view)>>(std::move(function)))
    {
    }
    int start(sd_event* event, const std::filesystem::path& path)
    {
        constexpr std::uint32_t kChanges = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                           IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
        sd_event_source* raw = nullptr;
        const int result = sd_event_add_inotify(event, &raw, path.c_str(), kChanges, &Directory::changed, this);
        source_.reset(raw);
        return result;
    }

private:
    static int changed(sd_event_source*, const inotify_event* event, void* userdata) noexcept
    {
        const auto function = static_cast<Directory*>(userdata)->function_;
        guarded(*function, event->len > 0 ? std::string_view(event->name) : std::string_view());
        return 0;
    }

    SharedCallback<void(std::string_view)> function_;
    SourcePtr source_;
};

// Both a one-shot Timer and an Alarm.
class Clockwork final : public Timer, public Alarm {
public:
    explicit Clockwork(std::function<void()> function)
        : function_(std::make_shared<std::function<void()>>(std::move(function)))
    {
    }
    int start(sd_event* event, std::uint64_t usec)
    {
        // The default accuracy of 250 ms is too coarse for retries.
        constexpr std::uint64_t kAccuracy = 1000;
        sd_event_source* raw = nullptr;
        const int result = sd_event_add_time(event, &raw, CLOCK_MONOTONIC, usec, kAccuracy, &Clockwork::ready, this);
        source_.reset(raw);
        return result;
    }
    void set(std::uint64_t usec) override
    {
        if (usec == kNever) {
            sd_event_source_set_enabled(source_.get(), SD_EVENT_OFF);
            return;
        }
        sd_event_source_set_time(source_.get(), usec);
        sd_event_source_set_enabled(source_.get(), SD_EVENT_ONESHOT);
    }

private:
    static int ready(sd_event_source*, std::uint64_t, void* userdata) noexcept
    {
        const auto function = static_cast<Clockwork*>(userdata)->function_;
        guarded(*function);
        return 0;
    }

    SharedCallback<void()> function_;
    SourcePtr source_;
};

// How long what was handed in runs before descriptors and timers have their turn.
constexpr auto kInboxTurn = std::chrono::milliseconds(2);

std::uint64_t now_usec()
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000U + static_cast<std::uint64_t>(now.tv_nsec) / 1000U;
}

std::uint64_t to_usec(Duration duration)
{
    const auto count = std::chrono::ceil<std::chrono::microseconds>(duration).count();
    return count > 0 ? static_cast<std::uint64_t>(count) : 0;
}

tl::unexpected<Error> refused(int result, const char* what)
{
    return fail(error_from_errno(ErrorCode::Internal, -result, what));
}

}    // namespace

// What other threads hand in; outlives the loop as long as somebody holds a poster.
struct EventLoop::Inbox {
    std::mutex mutex;
    std::deque<std::function<void()>> functions;
    UniqueFd wake;
    std::unique_ptr<Io> source;
    bool closed = false;

    void add(std::function<void()> function)
    {
        const std::lock_guard lock(mutex);
        if (closed) {
            return;
        }
        functions.push_back(std::move(function));
        if (functions.size() == 1) {
            const std::uint64_t one = 1;
            // Cannot fail in a way that matters: a full counter wakes just as well.
            [[maybe_unused]] const auto written = write(wake.get(), &one, sizeof(one));
        }
    }
    // Runs what is there, in order, for about this long; the rest has its turn when others had theirs.
    void run_for(Duration turn)
    {
        const auto end = std::chrono::steady_clock::now() + turn;
        do {
            std::function<void()> next;
            {
                const std::lock_guard lock(mutex);
                if (functions.empty()) {
                    std::uint64_t count = 0;
                    [[maybe_unused]] const auto got = read(wake.get(), &count, sizeof(count));
                    return;
                }
                next = std::move(functions.front());
                functions.pop_front();
            }
            guarded(next);
        } while (std::chrono::steady_clock::now() < end);
    }
};

struct EventLoop::State {
    EventPtr event;
    std::shared_ptr<Inbox> inbox = std::make_shared<Inbox>();
    std::shared_ptr<Inbox> last = std::make_shared<Inbox>();    // for when nothing else is there to do
};

EventLoop::EventLoop() : state_(std::make_unique<State>())
{
    sd_event* raw = nullptr;
    if (const int result = sd_event_new(&raw); result < 0) {
        throw std::system_error(-result, std::generic_category(), "sd_event_new");
    }
    state_->event.reset(raw);
    open_inbox(*state_->inbox, kInboxTurn, SD_EVENT_PRIORITY_NORMAL);
    // One at a time: what has become ready meanwhile goes first.
    open_inbox(*state_->last, Duration::zero(), SD_EVENT_PRIORITY_IDLE);
}

void EventLoop::open_inbox(Inbox& inbox, Duration turn, std::int64_t priority)
{
    inbox.wake = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!inbox.wake) {
        throw std::system_error(errno, std::generic_category(), "eventfd");
    }
    inbox.source = std::make_unique<Io>([&inbox, turn](std::uint32_t) { inbox.run_for(turn); });
    int result = inbox.source->start(state_->event.get(), inbox.wake.get(), EPOLLIN);
    if (result >= 0) {
        result = inbox.source->set_priority(priority);
    }
    if (result < 0) {
        throw std::system_error(-result, std::generic_category(), "the inbox of the loop");
    }
}

EventLoop::~EventLoop()
{
    // What is still in the inbox may hold objects that use the loop: it goes first.
    for (const auto& inbox : {state_->inbox, state_->last}) {
        std::deque<std::function<void()>> left;
        const std::lock_guard lock(inbox->mutex);
        inbox->closed = true;
        inbox->source.reset();
        left.swap(inbox->functions);
    }
}

void EventLoop::post(std::function<void()> function)
{
    state_->inbox->add(std::move(function));
}

void EventLoop::post_last(std::function<void()> function)
{
    state_->last->add(std::move(function));
}

std::function<void(std::function<void()>)> EventLoop::poster() const
{
    return [inbox = state_->inbox](std::function<void()> function) { inbox->add(std::move(function)); };
}

std::unique_ptr<Timer> EventLoop::after(Duration delay, std::function<void()> function)
{
    auto timer = std::make_unique<Clockwork>(std::move(function));
    const int result = timer->start(state_->event.get(), now_usec() + to_usec(delay));
    // ESTALE: the loop has ended. Destructors may still end sessions and want something later; it never comes.
    if (result < 0 && result != -ESTALE) {
        throw std::system_error(-result, std::generic_category(), "sd_event_add_time");
    }
    return timer;
}

Result<std::unique_ptr<IoSource>> EventLoop::on_io(int fd, std::uint32_t events,
                                                   std::function<void(std::uint32_t)> function)
{
    auto source = std::make_unique<Io>(std::move(function));
    if (const int result = source->start(state_->event.get(), fd, events); result < 0) {
        return refused(result, "a descriptor cannot be watched");
    }
    return source;
}

Result<std::unique_ptr<EventSource>> EventLoop::on_signal(int signal, std::function<void(SignalSender)> function)
{
    auto source = std::make_unique<SignalSource>(std::move(function));
    if (const int result = source->start(state_->event.get(), signal); result < 0) {
        return refused(result, "a signal cannot be watched");
    }
    return source;
}

Result<std::unique_ptr<EventSource>> EventLoop::on_exit_of(int pidfd, std::function<void()> function)
{
    auto source = std::make_unique<Io>([function = std::move(function)](std::uint32_t) { function(); });
    int result = source->start(state_->event.get(), pidfd, EPOLLIN);
    if (result >= 0) {
        result = source->set_once();
    }
    if (result < 0) {
        return refused(result, "a process cannot be watched");
    }
    return source;
}

Result<std::unique_ptr<Alarm>> EventLoop::on_alarm(std::function<void()> function)
{
    auto alarm = std::make_unique<Clockwork>(std::move(function));
    if (const int result = alarm->start(state_->event.get(), Alarm::kNever); result < 0) {
        return refused(result, "a timer cannot be made");
    }
    alarm->set(Alarm::kNever);
    return alarm;
}

Result<std::unique_ptr<EventSource>> EventLoop::on_directory(const std::filesystem::path& directory,
                                                             std::function<void(std::string_view)> function)
{
    auto source = std::make_unique<Directory>(std::move(function));
    if (const int result = source->start(state_->event.get(), directory); result < 0) {
        return refused(result, "a directory cannot be watched");
    }
    return source;
}

int EventLoop::run()
{
    int result = sd_event_loop(state_->event.get());
    while (result == -ENOMEM) {
        write_log(LogLevel::Error, {}, "there is no memory for the main loop, which waits for some");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        result = sd_event_loop(state_->event.get());
    }
    if (result < 0) {
        throw std::system_error(-result, std::generic_category(), "sd_event_loop");
    }
    return result;
}

void EventLoop::exit(int status)
{
    sd_event_exit(state_->event.get(), status);
}

void EventLoop::run_once(Duration timeout)
{
    sd_event_run(state_->event.get(), to_usec(timeout));
}

void run_guarded(const std::function<void()>& function) noexcept
{
    guarded(function);
}

void block_signals(std::initializer_list<int> signals)
{
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : signals) {
        sigaddset(&set, signal);
    }
    if (const int err = pthread_sigmask(SIG_BLOCK, &set, nullptr); err != 0) {
        throw std::system_error(err, std::generic_category(), "pthread_sigmask");
    }
}

}    // namespace rdmaqos::bus
