#include "tools/emulator/datapath/engine.h"

#include <algorithm>
#include <array>
#include <utility>

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/emulator/device.h"

namespace rdmaqos::emulator {
namespace {

using namespace std::chrono_literals;

// How long a page is looked at after it was written to; then it is guarded.
constexpr Time kAttention = 1ms;
// How often, while nothing else is to be done.
constexpr Time kLook = 30us;
// Pages that cannot be guarded are looked at so often for ever.
constexpr Time kLookUnguarded = 1ms;
// Receive requests that come to a queue pair in ERR ring no bell.
constexpr Time kLookAtErrors = 5ms;
// Pieces that are moved before doorbells are looked at again.
constexpr int kPiecesInARow = 8;

// How often it is looked at what becomes of a program that others wait for; how long one has had nothing to send before
// it is looked whether it has a processor.
constexpr Time kLookAtThreads = 200us;
// Looking at a program's threads takes as long; a message that the link carries in less is not worth it.
constexpr Time kWorthLooking = 20us;
// What has left so soon has left: finding out takes longer.
constexpr Time kSoon = 1us;

// What epoll(7) gives back: a device and a page of it, or a process, or this.
constexpr std::uint64_t kWakeup = ~std::uint64_t{0};
constexpr std::uint64_t kProcess = std::uint64_t{1} << 63;

void merge(std::optional<Time>& next, std::optional<Time> other)
{
    if (other && (!next || *other < *next)) {
        next = other;
    }
}

std::map<Arbiter::ElementNumber, Arbiter::ElementSettings> settings_of(const std::vector<ElementRecord>& elements)
{
    std::map<Arbiter::ElementNumber, Arbiter::ElementSettings> settings;
    for (const auto& each : elements) {
        const auto cap = each.max_rate_mbps == 0 ? std::nullopt
                                                 : std::optional(Bandwidth::from_mbps(each.max_rate_mbps));
        settings[static_cast<std::uint32_t>(each.id)] = {each.parent ? static_cast<std::uint32_t>(*each.parent) : 0,
                                                         each.share, cap};
    }
    return settings;
}

void watch(const UniqueFd& watched, int fd, std::uint64_t name)
{
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = name;
    (void)epoll_ctl(watched.get(), EPOLL_CTL_ADD, fd, &event);
}

}    // namespace

// ---- for others ----

Engine::Engine()
    : wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), watched_(epoll_create1(EPOLL_CLOEXEC)), thread_([this] {
          watch(watched_, wakeup_.get(), kWakeup);
          run();
      })
{
}

Engine::~Engine()
{
    ending_ = true;
    wake();
    thread_.join();
}

Engine::Access::Access(Engine& engine) : engine_(engine), lock_(engine.mutex_, std::defer_lock)
{
    ++engine_.wanting_;
    lock_.lock();
    --engine_.wanting_;
}

Engine::Access::~Access()
{
    engine_.wake();
}

void Engine::wake() const
{
    const std::uint64_t one = 1;
    (void)!write(wakeup_.get(), &one, sizeof(one));
}

DeviceState& Engine::of(Device& device)
{
    const auto found = std::ranges::find_if(devices_, [&](const auto& each) { return &each->device == &device; });
    if (found != devices_.end()) {
        return **found;
    }
    return *devices_.emplace_back(std::make_unique<DeviceState>(device, static_cast<std::uint32_t>(devices_.size())));
}

ClientMemory Engine::memory_of(MemoryOwner owner)
{
    auto& known = processes_[owner.process];
    if (known && known->is_gone()) {
        // Whatever still has it is of the program before.
        known->has_ended = true;
        (void)epoll_ctl(watched_.get(), EPOLL_CTL_DEL, known->handle.get(), nullptr);
        known.reset();
    }
    if (!known) {
        known = std::make_shared<ClientProcess>(owner);
        watch(watched_, known->handle.get(), kProcess | static_cast<std::uint32_t>(owner.process));
    }
    return ClientMemory(known);
}

void Engine::remove(const std::shared_ptr<QueuePair>& queue_pair)
{
    Transfers::stop(*queue_pair);
    queue_pair->removed = true;
    queue_pair->device.queue_pairs.erase(queue_pair->memory.number);
    for (const auto& device : devices_) {
        std::erase_if(device->flows, [&](const auto& entry) {
            const bool is_of_it = entry.second.lock() == queue_pair;
            if (is_of_it) {
                device->arbiter.remove_flow(entry.first);
            }
            return is_of_it;
        });
    }
}

void Engine::take_away(const DeviceState& device, std::uint32_t key)
{
    const auto is_in = [key](const Range& range) { return range.key == key; };
    for (const auto& each : devices_) {
        for (const auto& [number, queue_pair] : each->queue_pairs) {
            auto& transfer = queue_pair->transfer;
            if (transfer && each.get() == &device) {
                std::erase_if(transfer->local, is_in);
            }
            if (transfer && transfer->peer && &transfer->peer->device == &device) {
                std::erase_if(transfer->remote, is_in);
            }
        }
    }
}

void Engine::watch_page(DeviceState& device, std::uint32_t number, UniqueFd userfault, std::uint64_t address)
{
    const auto found = device.pages.find(number);
    if (found == device.pages.end()) {
        return;
    }
    DoorbellPage& page = *found->second.page;
    stop_listening_to(page);
    page.watch(std::move(userfault), address);
    watch(watched_, page.watcher(), std::uint64_t{device.number} << 32 | number);
}

void Engine::remove_page(DeviceState& device, std::uint32_t number)
{
    const auto page = device.pages.extract(number);
    if (!page.empty()) {
        stop_listening_to(*page.mapped().page);
    }
}

void Engine::stop_listening_to(const DoorbellPage& page) const
{
    if (page.watcher() >= 0) {
        (void)epoll_ctl(watched_.get(), EPOLL_CTL_DEL, page.watcher(), nullptr);
    }
}

// ---- the thread ----

void Engine::hear(Time now)
{
    std::array<epoll_event, 64> events{};
    const int count = epoll_wait(watched_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (const auto& event : std::span(events).first(static_cast<std::size_t>(std::max(count, 0)))) {
        const std::uint64_t name = event.data.u64;
        if (name == kWakeup) {
            std::uint64_t value = 0;
            (void)!read(wakeup_.get(), &value, sizeof(value));
        } else if ((name & kProcess) != 0) {
            const auto process = processes_.extract(static_cast<pid_t>(name & ~kProcess));
            if (!process.empty()) {
                process.mapped()->has_ended = true;
                (void)epoll_ctl(watched_.get(), EPOLL_CTL_DEL, process.mapped()->handle.get(), nullptr);
            }
        } else if (name >> 32 < devices_.size()) {
            auto& pages = devices_[name >> 32]->pages;
            if (const auto page = pages.find(static_cast<std::uint32_t>(name)); page != pages.end()) {
                page->second.page->release();
                page->second.heard = now;
            }
        }
    }
}

void Engine::bring_up_to_date(DeviceState& state)
{
    Device& device = state.device;
    const std::uint64_t generation = device.generation();
    if (std::exchange(state.generation, generation) == generation) {
        return;
    }
    const FirmwareChanges changes = device.firmware().take_changes();
    bool is_tree_new = changes.elements.has_value();
    if (changes.elements) {
        state.arbiter.set_elements(settings_of(*changes.elements));
    }
    state.arbiter.set_link(device.link_speed(1));
    const PortClasses classes = device.port_classes();
    if (std::exchange(state.port_classes, classes) != classes) {
        state.arbiter.set_classes(classes);
        is_tree_new = true;
    }
    for (std::size_t port = 0; port < state.ports.size(); ++port) {
        state.ports[port].is_up = device.port_is_up(static_cast<std::uint32_t>(port) + 1);
    }
    for (const auto& each : changes.queue_pairs) {
        const auto found = state.queue_pairs.find(each.number);
        if (found == state.queue_pairs.end()) {
            continue;
        }
        const auto queue_pair = found->second;
        is_tree_new = queue_pair->take_place(each) || is_tree_new;
        if (each.state == QueuePairState::Error && queue_pair->state != QueuePairState::Error) {
            transfers.enter_error(queue_pair);
        }
    }
    if (!is_tree_new) {
        return;
    }
    // Of other devices, too: what they read from here is sent by this one.
    for (const auto& [flow, weak] : state.flows) {
        const auto queue_pair = weak.lock();
        if (queue_pair && queue_pair->transfer && queue_pair->transfer->flow == flow) {
            Transfers::place_flow(*queue_pair);
        }
    }
}

bool Engine::listen(DeviceState& device, Time now)
{
    bool heard = false;
    for (auto& [number, page] : device.pages) {
        if (page.page->is_guarded()) {
            continue;
        }
        const auto rung = page.page->take();
        if (!rung.send && !rung.arm) {
            continue;
        }
        heard = true;
        page.heard = now;
        if (rung.send) {
            std::erase_if(page.queue_pairs, [](const auto& each) { return each.expired(); });
            for (const auto& weak : page.queue_pairs) {
                const auto queue_pair = weak.lock();
                if (queue_pair->state == QueuePairState::Error) {
                    transfers.flush(queue_pair);
                } else if (queue_pair->look_at_record()) {
                    transfers.advance(queue_pair, now);
                }
            }
        }
        if (rung.arm) {
            std::erase_if(page.completion_queues, [](const auto& each) { return each.expired(); });
            for (const auto& weak : page.completion_queues) {
                weak.lock()->look_at_arm();
            }
        }
    }
    return heard;
}

bool Engine::arrive(DeviceState& device, Time now, std::optional<Time>& next)
{
    bool has_arrived = false;
    while (!device.leaving.empty() && device.leaving.begin()->first <= now) {
        const auto first = device.leaving.extract(device.leaving.begin());
        const auto queue_pair = first.mapped().lock();
        if (queue_pair && queue_pair->transfer && queue_pair->transfer->leaves == first.key() &&
            queue_pair->transfer->sender == &device) {
            transfers.arrive(queue_pair, now);
            has_arrived = true;
        }
    }
    if (!device.leaving.empty()) {
        merge(next, device.leaving.begin()->first);
    }
    return has_arrived;
}

bool Engine::transmit(DeviceState& device, Time now, std::optional<Time>& next)
{
    const bool has_arrived = arrive(device, now, next);
    const auto turn = device.arbiter.turn(now);
    if (turn.awaited) {
        look_at_awaited(device, *turn.awaited, now, next);
    }
    if (!turn.flow) {
        merge(next, turn.next);
        return has_arrived;
    }
    const auto found = device.flows.find(*turn.flow);
    const auto queue_pair = found == device.flows.end() ? nullptr : found->second.lock();
    if (!queue_pair || !queue_pair->transfer || queue_pair->transfer->flow != *turn.flow) {
        device.arbiter.remove_flow(*turn.flow);
        device.flows.erase(*turn.flow);
        return true;
    }
    if (queue_pair->transfer->leaves) {    // one of its rates has changed meanwhile
        transfers.arrive(queue_pair, now);
        return true;
    }
    const std::size_t bytes = transfers.begin_piece(queue_pair, now);
    if (bytes == 0) {
        return true;
    }
    const Time leaves = device.arbiter.sent(*turn.flow, bytes, now);
    if (leaves < now + kSoon) {
        transfers.arrive(queue_pair, now);
    } else {
        queue_pair->transfer->leaves = leaves;
        device.leaving.emplace(leaves, queue_pair);
        merge(next, leaves);
    }
    return true;
}

void Engine::look_at_awaited(DeviceState& device, Arbiter::FlowNumber flow, Time now, std::optional<Time>& next)
{
    const auto found = device.flows.find(flow);
    const auto queue_pair = found == device.flows.end() ? nullptr : found->second.lock();
    bool is_lost = !queue_pair || queue_pair->state != QueuePairState::Rts || queue_pair->has_work();
    if (!is_lost && (!queue_pair->awaited || now >= queue_pair->awaited->looked_at + kLookAtThreads)) {
        if (!queue_pair->awaited) {
            queue_pair->awaited = QueuePair::Awaited{};
        }
        queue_pair->awaited->looked_at = now;
        const auto threads = queue_pair->client.runnable_threads();
        is_lost = !threads || queue_pair->awaited->chance.is_over(*threads);
    }
    if (is_lost) {
        device.arbiter.set_backlogged(flow, false, now);
        merge(next, now);
    } else {
        merge(next, queue_pair->awaited->looked_at + kLookAtThreads);
    }
}

void Engine::look_at_idle(Time now, std::optional<Time>& next)
{
    auto& idle = transfers.idle;
    while (!idle.empty() && idle.front().first + kLookAtThreads <= now) {
        const auto [since, weak] = std::exchange(idle.front(), {});
        idle.pop_front();
        const auto queue_pair = weak.lock();
        if (queue_pair && queue_pair->idle && queue_pair->idle->since == since &&
            queue_pair->idle->sender->arbiter.has_idle_rate(queue_pair->idle->flow, queue_pair->idle->length,
                                                            kWorthLooking)) {
            queue_pair->idle->waited = queue_pair->client.waited_of_threads();
        }
    }
    if (!idle.empty()) {
        merge(next, idle.front().first + kLookAtThreads);
    }
}

void Engine::look_at_blocked(Time now, std::optional<Time>& next)
{
    auto blocked = std::exchange(transfers.blocked, {});
    for (const auto& weak : blocked) {
        const auto queue_pair = weak.lock();
        if (!queue_pair || !queue_pair->blocked_until) {
            continue;
        }
        if (*queue_pair->blocked_until > now) {
            merge(next, queue_pair->blocked_until);
            transfers.blocked.push_back(weak);
        } else {
            transfers.advance(queue_pair, now);    // which may put it there again
            merge(next, queue_pair->blocked_until);
        }
    }
}

void Engine::look_at_failed(Time now, std::optional<Time>& next)
{
    std::erase_if(transfers.failed, [](const auto& weak) {
        const auto queue_pair = weak.lock();
        return !queue_pair || queue_pair->removed || queue_pair->state != QueuePairState::Error;
    });
    if (transfers.failed.empty()) {
        return;
    }
    if (now >= failed_looked_at_ + kLookAtErrors) {
        failed_looked_at_ = now;
        for (const auto& weak : transfers.failed) {
            transfers.flush(weak.lock());
        }
    }
    merge(next, failed_looked_at_ + kLookAtErrors);
}

void Engine::rest(std::optional<Time> next)
{
    {
        const std::lock_guard lock(mutex_);
        const Time now = monotonic_now();
        for (const auto& device : devices_) {
            for (auto& [number, page] : device->pages) {
                const bool is_new = now < page.heard + kAttention;
                const bool is_guarded = !is_new && page.page->guard();
                if (is_guarded && page.page->is_rung()) {    // just before
                    page.page->release();
                    page.heard = now;
                    return;
                }
                if (!is_guarded) {
                    merge(next, now + (is_new ? kLook : kLookUnguarded));
                }
            }
        }
    }
    timespec left{};
    if (next) {
        const Time pause = std::max(Time(0), *next - monotonic_now());
        left = {pause / 1s, (pause % 1s).count()};
    }
    pollfd watched{watched_.get(), POLLIN, 0};
    (void)ppoll(&watched, 1, next ? &left : nullptr, nullptr);
}

void Engine::run()
{
    prctl(PR_SET_NAME, "hardware");
    prctl(PR_SET_TIMERSLACK, 1000);    // ns
    // A NIC does not wait for the host's processors. Where this process may not have it so, it does.
    constexpr int kUrgent = -10;
    (void)setpriority(PRIO_PROCESS, 0, kUrgent);
    while (!ending_) {
        std::optional<Time> next;
        bool is_busy = false;
        if (wanting_ > 0) {
            sched_yield();
        }
        {
            const std::lock_guard lock(mutex_);
            const Time now = monotonic_now();
            hear(now);
            for (const auto& device : devices_) {
                bring_up_to_date(*device);
                is_busy = listen(*device, now) || is_busy;
            }
            look_at_idle(now, next);
            look_at_blocked(now, next);
            look_at_failed(now, next);
            for (int piece = 0; piece < kPiecesInARow; ++piece) {
                bool moved = false;
                for (const auto& device : devices_) {
                    moved = transmit(*device, monotonic_now(), next) || moved;
                }
                if (!moved) {
                    break;
                }
                is_busy = true;
            }
            transfers.end_overrun();
        }
        if (!is_busy) {
            rest(next);
        }
    }
}

}    // namespace rdmaqos::emulator
