#include "tools/emulator/datapath/hardware.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>
#include <utility>

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/emulator/datapath/transfers.h"
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

void merge(std::optional<Time>& next, std::optional<Time> other)
{
    if (other && (!next || *other < *next)) {
        next = other;
    }
}

template <typename T>
std::shared_ptr<T> at(const std::unordered_map<std::uint32_t, std::shared_ptr<T>>& all, std::uint32_t number)
{
    const auto found = all.find(number);
    return found == all.end() ? nullptr : found->second;
}

}    // namespace

class Hardware::Engine {
public:
    Engine() : wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), thread_([this] { run(); }) {}
    ~Engine()
    {
        ending_ = true;
        wake();
        thread_.join();
    }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // As long as it lives, the engine rests, and this thread may touch what it has.
    class Access {
    public:
        explicit Access(Engine& engine) : engine_(engine), lock_(engine.mutex_, std::defer_lock)
        {
            ++engine_.wanting_;
            lock_.lock();
            --engine_.wanting_;
        }
        ~Access() { engine_.wake(); }
        Access(const Access&) = delete;
        Access& operator=(const Access&) = delete;

    private:
        Engine& engine_;
        std::unique_lock<std::mutex> lock_;
    };

    [[nodiscard]] DeviceState& of(Device& device)
    {
        const auto found = std::ranges::find_if(devices_, [&](const auto& each) { return &each->device == &device; });
        if (found != devices_.end()) {
            return **found;
        }
        return *devices_.emplace_back(
            std::make_unique<DeviceState>(device, static_cast<std::uint32_t>(devices_.size())));
    }
    void remove(const std::shared_ptr<QueuePair>& queue_pair)
    {
        Transfers::stop(*queue_pair);
        queue_pair->removed = true;
        queue_pair->device.queue_pairs.erase(queue_pair->memory.number);
    }

    // What is under way there finds no memory any more.
    void take_away(const MemoryRegion& region)
    {
        const auto is_in = [&region](const Range& range) {
            return range.client == ClientMemory(region.process) && range.address >= region.start &&
                   range.address - region.start < region.length;
        };
        for (const auto& device : devices_) {
            for (const auto& [number, queue_pair] : device->queue_pairs) {
                if (auto& transfer = queue_pair->transfer) {
                    std::erase_if(transfer->local, is_in);
                    std::erase_if(transfer->remote, is_in);
                }
            }
        }
    }

    Transfers transfers{devices_};

private:
    void run();
    void wake() const
    {
        const std::uint64_t one = 1;
        (void)!write(wakeup_.get(), &one, sizeof(one));
    }
    // The tree is what the firmware has.
    static void bring_up_to_date(DeviceState& device);
    // True: a bell has rung.
    bool listen(DeviceState& device, Time now);
    // True: something was moved.
    bool transmit(DeviceState& device, Time now, std::optional<Time>& next);
    void look_at_blocked(Time now, std::optional<Time>& next);
    void look_at_failed(std::optional<Time>& next, Time now);
    // Until something happens, or `next`.
    void rest(std::optional<Time> next);

    std::mutex mutex_;    // of all but the next ones
    std::atomic<int> wanting_{0};
    std::atomic<bool> ending_{false};
    UniqueFd wakeup_;
    std::vector<std::unique_ptr<DeviceState>> devices_;
    Time failed_looked_at_{0};
    std::thread thread_;    // last
};

void Hardware::Engine::bring_up_to_date(DeviceState& device)
{
    Firmware& firmware = device.device.firmware();
    const std::uint64_t generation = firmware.generation();
    if (std::exchange(device.generation, generation) == generation) {
        return;
    }
    std::map<Arbiter::ElementNumber, Arbiter::ElementSettings> elements;
    for (const auto& each : firmware.elements()) {
        const auto cap = each.max_rate_mbps == 0 ? std::nullopt
                                                 : std::optional(Bandwidth::from_mbps(each.max_rate_mbps));
        elements[static_cast<std::uint32_t>(each.id)] = {each.parent ? static_cast<std::uint32_t>(*each.parent) : 0,
                                                         each.share, cap};
    }
    device.arbiter.set_elements(elements);
    device.arbiter.set_link(device.device.port_is_up(1) ? device.device.link_speed(1) : Bandwidth());
    for (const auto& each : firmware.queue_pairs()) {
        const auto queue_pair = at(device.queue_pairs, each.number);
        if (queue_pair) {
            queue_pair->requester_leaf = static_cast<std::uint32_t>(each.requester);
            queue_pair->responder_leaf = static_cast<std::uint32_t>(each.responder);
            queue_pair->rate = each.rate ? std::optional(each.rate->rate) : std::nullopt;
        }
    }
    for (const auto& [flow, weak] : device.flows) {
        const auto queue_pair = weak.lock();
        if (!queue_pair || !queue_pair->transfer || queue_pair->transfer->flow != flow) {
            continue;
        }
        const bool is_own = &queue_pair->device == &device &&
                            queue_pair->transfer->request.operation != Operation::Read;
        const QueuePair& scheduled = is_own || !queue_pair->transfer->peer ? *queue_pair : *queue_pair->transfer->peer;
        device.arbiter.set_flow(flow, is_own ? scheduled.requester_leaf : scheduled.responder_leaf,
                                is_own ? scheduled.rate : std::nullopt);
    }
}

bool Hardware::Engine::listen(DeviceState& device, Time now)
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

bool Hardware::Engine::transmit(DeviceState& device, Time now, std::optional<Time>& next)
{
    const auto turn = device.arbiter.turn(now);
    if (!turn.flow) {
        merge(next, turn.next);
        return false;
    }
    const auto found = device.flows.find(*turn.flow);
    const auto queue_pair = found == device.flows.end() ? nullptr : found->second.lock();
    if (!queue_pair || !queue_pair->transfer || queue_pair->transfer->flow != *turn.flow) {
        device.arbiter.remove_flow(*turn.flow);
        device.flows.erase(*turn.flow);
        return true;
    }
    device.arbiter.sent(*turn.flow, transfers.move(queue_pair, now), now);
    return true;
}

void Hardware::Engine::look_at_blocked(Time now, std::optional<Time>& next)
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

void Hardware::Engine::look_at_failed(std::optional<Time>& next, Time now)
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
        for (const auto& weak : std::vector(transfers.failed)) {
            transfers.flush(weak.lock());
        }
    }
    merge(next, failed_looked_at_ + kLookAtErrors);
}

void Hardware::Engine::rest(std::optional<Time> next)
{
    std::vector<std::shared_ptr<DoorbellPage>> guarded;
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
                if (is_guarded) {
                    guarded.push_back(page.page);
                } else {
                    merge(next, now + (is_new ? kLook : kLookUnguarded));
                }
            }
        }
    }
    std::vector<pollfd> wanted{{wakeup_.get(), POLLIN, 0}};
    for (const auto& page : guarded) {
        wanted.push_back({page->watcher(), POLLIN, 0});
    }
    timespec left{};
    if (next) {
        const Time pause = std::max(Time(0), *next - monotonic_now());
        left = {pause / 1s, (pause % 1s).count()};
    }
    if (ppoll(wanted.data(), wanted.size(), next ? &left : nullptr, nullptr) <= 0) {
        return;
    }
    std::uint64_t count = 0;
    (void)!read(wakeup_.get(), &count, sizeof(count));
    const std::lock_guard lock(mutex_);
    const Time now = monotonic_now();
    for (std::size_t i = 0; i < guarded.size(); ++i) {
        if (wanted[i + 1].revents != 0) {
            guarded[i]->release();
            for (const auto& device : devices_) {
                for (auto& [number, page] : device->pages) {
                    page.heard = page.page == guarded[i] ? now : page.heard;
                }
            }
        }
    }
}

void Hardware::Engine::run()
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
            for (const auto& device : devices_) {
                bring_up_to_date(*device);
                is_busy = listen(*device, now) || is_busy;
            }
            look_at_blocked(now, next);
            look_at_failed(next, now);
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
        }
        if (!is_busy) {
            rest(next);
        }
    }
}

// ---- what verbs do ----

Hardware::Hardware() : engine_(std::make_unique<Engine>()) {}

Hardware::~Hardware() = default;

void Hardware::add(Device& device)
{
    const Engine::Access access(*engine_);
    static_cast<void>(engine_->of(device));
}

void Hardware::add_page(Device& device, std::uint32_t number, std::shared_ptr<DoorbellPage> page)
{
    const Engine::Access access(*engine_);
    engine_->of(device).pages[number] = {std::move(page), {}, {}, monotonic_now()};
}

void Hardware::remove_page(Device& device, std::uint32_t number)
{
    const Engine::Access access(*engine_);
    engine_->of(device).pages.erase(number);
}

void Hardware::page_changed()
{
    const Engine::Access access(*engine_);
}

void Hardware::add(Device& device, CompletionQueueMemory memory)
{
    const Engine::Access access(*engine_);
    DeviceState& state = engine_->of(device);
    const auto number = memory.number;
    const auto page = state.pages.find(memory.page);
    const auto queue = std::make_shared<CompletionQueue>(std::move(memory));
    state.completion_queues[number] = queue;
    if (page != state.pages.end()) {
        page->second.completion_queues.push_back(queue);
    }
}

bool Hardware::resize(Device& device, std::uint32_t number, std::uint64_t buffer, std::uint32_t entry_bytes,
                      std::uint32_t entries)
{
    const Engine::Access access(*engine_);
    const auto queue = at(engine_->of(device).completion_queues, number);
    return !queue || queue->resize(buffer, entry_bytes, entries);
}

std::uint32_t Hardware::remove_completion_queue(Device& device, std::uint32_t number)
{
    const Engine::Access access(*engine_);
    auto& queues = engine_->of(device).completion_queues;
    const auto queue = at(queues, number);
    queues.erase(number);
    return queue ? queue->close() : 0;
}

void Hardware::add(Device& device, const MemoryRegion& region)
{
    const Engine::Access access(*engine_);
    engine_->of(device).regions[region.key] = region;
}

void Hardware::remove_region(Device& device, std::uint32_t key)
{
    const Engine::Access access(*engine_);
    const auto region = engine_->of(device).regions.extract(key);
    if (!region.empty()) {
        engine_->take_away(region.mapped());
    }
}

void Hardware::add(Device& device, const SharedReceiveQueueMemory& memory)
{
    const Engine::Access access(*engine_);
    engine_->of(device).shared_receive_queues[memory.number] = std::make_shared<SharedReceiveQueue>(memory);
}

void Hardware::remove_shared_receive_queue(Device& device, std::uint32_t number)
{
    const Engine::Access access(*engine_);
    engine_->of(device).shared_receive_queues.erase(number);
}

void Hardware::add(Device& device, const QueuePairMemory& memory)
{
    const Engine::Access access(*engine_);
    DeviceState& state = engine_->of(device);
    const auto queue_pair = std::make_shared<QueuePair>(memory, state);
    queue_pair->send_queue = at(state.completion_queues, memory.send_queue);
    queue_pair->receive_queue = at(state.completion_queues, memory.receive_queue);
    queue_pair->shared = at(state.shared_receive_queues, memory.shared_receive_queue);
    state.queue_pairs[memory.number] = queue_pair;
    if (const auto page = state.pages.find(memory.page); page != state.pages.end()) {
        page->second.queue_pairs.push_back(queue_pair);
    }
}

void Hardware::modify(Device& device, std::uint32_t number, QueuePairState to, const ib_uverbs_modify_qp& attributes)
{
    const Engine::Access access(*engine_);
    const auto queue_pair = at(engine_->of(device).queue_pairs, number);
    if (!queue_pair) {
        return;
    }
    std::ranges::copy(attributes.dest.dgid, queue_pair->remote_gid.begin());
    queue_pair->is_global = attributes.dest.is_global != 0;
    queue_pair->remote_number = attributes.dest_qp_num;
    queue_pair->key = attributes.qkey;
    queue_pair->access = attributes.qp_access_flags;
    queue_pair->timeout = attributes.timeout & 0x1f;
    queue_pair->retries = attributes.retry_cnt;
    queue_pair->receiver_retries = attributes.rnr_retry;
    queue_pair->receiver_timer = attributes.min_rnr_timer;
    queue_pair->state = to;
    if (to == QueuePairState::Reset) {
        Transfers::stop(*queue_pair);
        queue_pair->send_posted = queue_pair->send_done = 0;
        queue_pair->receive_posted = queue_pair->receive_done = 0;
    } else if (to == QueuePairState::Error) {
        engine_->transfers.flush(queue_pair);
        engine_->transfers.failed.push_back(queue_pair);
    } else if (to == QueuePairState::Rts && queue_pair->look_at_record()) {
        engine_->transfers.advance(queue_pair, monotonic_now());    // what was posted before
    }
}

void Hardware::remove_queue_pair(Device& device, std::uint32_t number)
{
    const Engine::Access access(*engine_);
    if (const auto queue_pair = at(engine_->of(device).queue_pairs, number)) {
        engine_->remove(queue_pair);
    }
}

}    // namespace rdmaqos::emulator
