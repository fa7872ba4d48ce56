#include "daemon/survey/queue_pair_watch.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "daemon/survey/owners.h"
#include "daemon/survey/seen_queue_pairs.h"
#include "lib/base/file.h"
#include "lib/base/log.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using namespace rdma_netlink;
using Steady = std::chrono::steady_clock;

constexpr auto kSoon = 10ms;
constexpr auto kHotFor = 3s;
// Where the opening of device files is seen, the counts are for those of containers, which have nodes of their own.
constexpr auto kIdle = 250ms;
constexpr auto kIdleBlind = 50ms;
// A program that has its device open gives no sign before it makes another queue pair.
constexpr auto kAttentive = 30ms;
constexpr auto kLongest = 2s;
// One queue pair in the place of another leaves the counts as they were, so there is a list now and then anyway: after
// so many times what the last one took.
constexpr int kListPause = 100;
constexpr int kListPauseHot = 10;
constexpr auto kListAnyway = 10s;    // at the latest
constexpr int kSleepPerLook = 4;
// While nothing happens: a hundredth of a processor; two and a half while programs have devices open.
constexpr int kRestPerLook = 100;
constexpr int kRestPerLookAttentive = 40;
// One by one; beyond, a list is cheaper.
constexpr std::size_t kMostAskedAlone = 256;

struct WatchedDevice {
    TrackedDevice device;
    SeenQueuePairs seen;
    std::optional<ResourceCounts> counts;
    Steady::time_point listed_at{};
    Steady::duration list_took{};
    Steady::time_point asked_at{};
    Steady::duration asking_took{};    // for what is not ready yet
    bool list_due = true;
};

class QueuePairWatch final : public HostWatch {
public:
    QueuePairWatch(Executor& loop, const Clock& clock, HostNewsHandler news, WatchOptions options);
    ~QueuePairWatch() override;
    QueuePairWatch(const QueuePairWatch&) = delete;
    QueuePairWatch& operator=(const QueuePairWatch&) = delete;

    void tell_again() override;

private:
    void run();
    void look();
    void find_devices();
    void tell(const Error& error);
    void look_at(WatchedDevice& watched, HostNews& news);
    void take(const WatchedDevice& watched, SeenQueuePairs::News found, HostNews& news);
    void tell(HostNews news);
    // False: it is to end.
    bool sleep(Steady::duration looked);
    void watch_files();

    Executor& loop_;
    const Clock& clock_;
    const std::shared_ptr<const HostNewsHandler> handler_;    // gone with this object
    const WatchOptions options_;
    UniqueFd wake_;
    UniqueFd files_;    // inotify
    Connection kernel_;
    std::map<std::string, WatchedDevice> devices_;
    std::optional<Owners> owners_;
    Steady::time_point hot_until_{};
    Steady::time_point devices_at_{};
    int logged_failure_ = 0;
    std::atomic<bool> again_ = false;
    std::atomic<bool> ending_ = false;
    std::thread thread_;    // last
};

QueuePairWatch::QueuePairWatch(Executor& loop, const Clock& clock, HostNewsHandler news, WatchOptions options)
    : loop_(loop), clock_(clock), handler_(std::make_shared<const HostNewsHandler>(std::move(news))),
      options_(std::move(options)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), thread_([this] { run(); })
{
}

QueuePairWatch::~QueuePairWatch()
{
    ending_ = true;
    eventfd_write(wake_.get(), 1);
    thread_.join();
}

void QueuePairWatch::tell_again()
{
    again_ = true;
    eventfd_write(wake_.get(), 1);
}

void QueuePairWatch::watch_files()
{
    files_ = UniqueFd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    // Of the folder: also of nodes that come later.
    if (files_ && inotify_add_watch(files_.get(), options_.device_files.c_str(), IN_OPEN | IN_CREATE) < 0) {
        files_.reset();
    }
}

void QueuePairWatch::tell(const Error& error)
{
    if (std::exchange(logged_failure_, error.sys_errno) != error.sys_errno) {
        log(LogLevel::Warning, "queue pairs of programs that do not register are not seen: {}", to_string(error));
    }
}

void QueuePairWatch::find_devices()
{
    if (Steady::now() - devices_at_ < 1s) {
        return;
    }
    int failed = kernel_.is_open() ? 0 : kernel_.open();
    auto found = failed == 0 ? list_devices(kernel_) : fail(Error{ErrorCode::Io, failed, "no RDMA netlink"});
    if (!found) {
        kernel_.close();
        tell(found.error());
        return;
    }
    devices_at_ = Steady::now();
    std::map<std::string, WatchedDevice> now;
    for (auto& device : *found) {
        const auto before = devices_.find(device.name);
        const bool stays = before != devices_.end() && before->second.device == device;
        WatchedDevice watched = stays ? std::move(before->second) : WatchedDevice();
        watched.device = device;
        now.emplace(device.name, std::move(watched));
    }
    // What was on a device that is gone need not be reported: the device is gone for everybody.
    devices_ = std::move(now);
    if (!files_) {
        watch_files();
    }
}

void QueuePairWatch::take(const WatchedDevice& watched, SeenQueuePairs::News found, HostNews& news)
{
    for (const std::uint32_t number : found.gone) {
        news.gone.emplace_back(watched.device.name, number);
    }
    std::optional<Holders> holders;
    for (auto& ready : found.ready) {
        auto owner = owner_of(ready, *owners_, holders, [&] { return Holders(kernel_, watched.device); });
        news.ready.push_back({watched.device.name, std::move(ready), std::move(owner)});
    }
}

void QueuePairWatch::look_at(WatchedDevice& watched, HostNews& news)
{
    const auto now = Steady::now();
    const auto counts = count_resources(kernel_, watched.device);
    if (counts && watched.counts != *counts) {
        watched.counts = *counts;
        watched.list_due = true;
        hot_until_ = now + kHotFor;
    }
    // Some are not ready for as long as their program lives, or until somebody connects.
    const bool hot = now < hot_until_;
    const bool asks = hot || now - watched.asked_at > kRestPerLook * watched.asking_took;
    const auto pending = asks ? watched.seen.pending() : std::vector<std::pair<std::uint32_t, std::uint32_t>>();
    const bool many = pending.size() > kMostAskedAlone;
    const Steady::duration pause = watched.list_took * (hot ? kListPauseHot : kListPause);
    const Steady::duration latest = counts ? kListAnyway : 1s;
    if (watched.list_due || many || now - watched.listed_at > std::min(pause, latest)) {
        auto all = list_queue_pairs(kernel_, watched.device);
        watched.listed_at = Steady::now();
        watched.list_took = watched.listed_at - now;
        watched.list_due = !all;
        if (all) {
            logged_failure_ = 0;
            take(watched, watched.seen.take_all(*all), news);
        } else if (all.error().sys_errno != ENODEV) {    // it has gone
            tell(all.error());
        }
        watched.asked_at = watched.listed_at;
        watched.asking_took = many ? watched.list_took : watched.asking_took;
        return;
    }
    for (const auto& [port, number] : pending) {
        if (const auto one = ask_for_queue_pair(kernel_, watched.device, std::max(port, 1U), number)) {
            take(watched, watched.seen.take(*one), news);
        } else {
            watched.list_due = hot;    // it is gone, of another port, or of none yet
        }
    }
    if (!pending.empty()) {
        watched.asked_at = Steady::now();
        watched.asking_took = watched.asked_at - now;
    }
}

void QueuePairWatch::look()
{
    find_devices();
    HostNews news;
    owners_.emplace(options_.proc);
    const bool again = again_.exchange(false);
    for (auto& [name, watched] : devices_) {
        if (again) {
            take(watched, {watched.seen.ready(), {}}, news);
        }
        look_at(watched, news);
    }
    if (owners_->lacked_something()) {
        again_ = true;    // of some that are ready it is not known whose they are
    }
    if (!news.gone.empty() || !news.ready.empty()) {
        tell(std::move(news));
    }
}

void QueuePairWatch::tell(HostNews news)
{
    news.seen_at = clock_.now();
    auto shared = std::make_shared<HostNews>(std::move(news));
    loop_.post([handler = std::weak_ptr<const HostNewsHandler>(handler_), shared] {
        if (const auto alive = handler.lock()) {
            (*alive)(std::move(*shared));
        }
    });
}

bool QueuePairWatch::sleep(Steady::duration looked)
{
    bool hot = Steady::now() < hot_until_;
    bool is_anybody_there = false;
    for (const auto& [name, watched] : devices_) {
        hot = hot || watched.list_due;
        // One file is the daemon's own.
        is_anybody_there = is_anybody_there || watched.seen.size() > 0 ||
                           (watched.counts && watched.counts->contexts > 1);
    }
    const Steady::duration idle = is_anybody_there
                                      ? std::clamp<Steady::duration>(kRestPerLookAttentive * looked, kAttentive, kIdle)
                                  : files_ ? kIdle
                                           : kIdleBlind;
    const Steady::duration interval = hot ? kSoon : idle;
    const auto longest = std::chrono::duration_cast<Steady::duration>(kLongest);
    const auto until = Steady::now() + std::clamp(kSleepPerLook * looked, interval, std::max(interval, longest));
    while (!ending_) {
        std::array<pollfd, 2> ends{pollfd{wake_.get(), POLLIN, 0}, pollfd{files_ ? files_.get() : -1, POLLIN, 0}};
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Steady::now());
        const int ready = left > 0ms ? poll(ends.data(), ends.size(), static_cast<int>(left.count())) : 0;
        if (ready <= 0) {
            break;
        }
        if (ends[0].revents != 0) {
            eventfd_t value = 0;
            eventfd_read(wake_.get(), &value);
            break;
        }
        std::array<char, 4096> events{};
        while (read(files_.get(), events.data(), events.size()) > 0) {
        }
        const bool was_idle = Steady::now() >= hot_until_;
        hot_until_ = Steady::now() + kHotFor;
        if (was_idle) {
            break;
        }
    }
    return !ending_;
}

void QueuePairWatch::run()
{
    Steady::duration looked{};
    do {
        const auto begun = Steady::now();
        look();
        looked = Steady::now() - begun;
    } while (sleep(looked));
}

}    // namespace

std::unique_ptr<HostWatch> watch_queue_pairs(Executor& loop, const Clock& clock, HostNewsHandler news,
                                             WatchOptions options)
{
    return std::make_unique<QueuePairWatch>(loop, clock, std::move(news), std::move(options));
}

}    // namespace rdmaqos
