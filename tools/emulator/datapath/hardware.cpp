#include "tools/emulator/datapath/hardware.h"

#include <algorithm>
#include <utility>

#include "tools/emulator/address_path.h"
#include "tools/emulator/datapath/engine.h"
#include "tools/emulator/device.h"

namespace rdmaqos::emulator {
namespace {

template <typename T>
std::shared_ptr<T> of_number(const std::unordered_map<std::uint32_t, std::shared_ptr<T>>& all, std::uint32_t number)
{
    const auto found = all.find(number);
    return found == all.end() ? nullptr : found->second;
}

std::vector<PortTraffic> ports_of(const DeviceState& state)
{
    std::vector<PortTraffic> traffic;
    for (const auto& port : state.ports) {
        traffic.push_back(port.traffic);
    }
    return traffic;
}

}    // namespace

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

void Hardware::watch_page(Device& device, std::uint32_t number, UniqueFd userfault, std::uint64_t address)
{
    const Engine::Access access(*engine_);
    engine_->watch_page(engine_->of(device), number, std::move(userfault), address);
}

void Hardware::remove_page(Device& device, std::uint32_t number)
{
    const Engine::Access access(*engine_);
    engine_->remove_page(engine_->of(device), number);
}

void Hardware::add(Device& device, CompletionQueueMemory memory)
{
    const Engine::Access access(*engine_);
    DeviceState& state = engine_->of(device);
    const auto number = memory.number;
    const auto page = state.pages.find(memory.page);
    auto client = engine_->memory_of(memory.owner);
    const auto queue = std::make_shared<CompletionQueue>(std::move(memory), std::move(client));
    state.completion_queues[number] = queue;
    if (page != state.pages.end()) {
        page->second.completion_queues.push_back(queue);
    }
}

bool Hardware::resize(Device& device, std::uint32_t number, std::uint64_t buffer, std::uint32_t entry_bytes,
                      std::uint32_t entries)
{
    const Engine::Access access(*engine_);
    const auto queue = of_number(engine_->of(device).completion_queues, number);
    return !queue || queue->resize(buffer, entry_bytes, entries);
}

std::uint32_t Hardware::remove_completion_queue(Device& device, std::uint32_t number)
{
    const Engine::Access access(*engine_);
    auto& queues = engine_->of(device).completion_queues;
    const auto queue = of_number(queues, number);
    queues.erase(number);
    return queue ? queue->close() : 0;
}

void Hardware::add(Device& device, const MemoryRegion& region)
{
    const Engine::Access access(*engine_);
    engine_->of(device).regions.insert_or_assign(region.key,
                                                 DeviceState::Region{region, engine_->memory_of(region.owner)});
}

void Hardware::remove_region(Device& device, std::uint32_t key)
{
    const Engine::Access access(*engine_);
    DeviceState& state = engine_->of(device);
    if (state.regions.erase(key) > 0) {
        engine_->take_away(state, key);
    }
}

void Hardware::add(Device& device, SharedReceiveQueueMemory memory)
{
    const Engine::Access access(*engine_);
    auto& queue = engine_->of(device).shared_receive_queues[memory.number];
    auto client = engine_->memory_of(memory.owner);
    queue = std::make_shared<SharedReceiveQueue>(std::move(memory), std::move(client));
}

void Hardware::set_limit(Device& device, std::uint32_t shared_receive_queue, std::uint32_t limit)
{
    const Engine::Access access(*engine_);
    if (const auto queue = of_number(engine_->of(device).shared_receive_queues, shared_receive_queue)) {
        queue->set_limit(limit);
    }
}

void Hardware::remove_shared_receive_queue(Device& device, std::uint32_t number)
{
    const Engine::Access access(*engine_);
    engine_->of(device).shared_receive_queues.erase(number);
}

void Hardware::add(Device& device, QueuePairMemory of_memory)
{
    const Engine::Access access(*engine_);
    DeviceState& state = engine_->of(device);
    auto client = engine_->memory_of(of_memory.owner);
    const auto queue_pair = std::make_shared<QueuePair>(std::move(of_memory), std::move(client), state);
    const QueuePairMemory& memory = queue_pair->memory;
    queue_pair->send_queue = of_number(state.completion_queues, memory.send_queue);
    queue_pair->receive_queue = of_number(state.completion_queues, memory.receive_queue);
    queue_pair->shared = of_number(state.shared_receive_queues, memory.shared_receive_queue);
    if (const auto record = device.firmware().queue_pair(memory.number)) {
        queue_pair->take_place(*record);
    }
    state.queue_pairs[memory.number] = queue_pair;
    if (const auto page = state.pages.find(memory.page); page != state.pages.end()) {
        page->second.queue_pairs.push_back(queue_pair);
    }
}

void Hardware::modify(Device& device, std::uint32_t number, QueuePairState to, const ib_uverbs_modify_qp& attributes)
{
    const Engine::Access access(*engine_);
    const auto queue_pair = of_number(engine_->of(device).queue_pairs, number);
    if (!queue_pair) {
        return;
    }
    // It may have failed after the call looked at its state.
    if (queue_pair->state == QueuePairState::Error && to != QueuePairState::Reset) {
        to = QueuePairState::Error;
    }
    if (to == QueuePairState::Reset || to == QueuePairState::Error) {
        device.firmware().set_queue_pair_state(number, to);
    }
    std::ranges::copy(attributes.dest.dgid, queue_pair->remote_gid.begin());
    queue_pair->is_global = attributes.dest.is_global != 0;
    queue_pair->remote_lid = attributes.dest.dlid;
    queue_pair->remote_number = attributes.dest_qp_num;
    queue_pair->send_psn = attributes.sq_psn;
    queue_pair->receive_psn = attributes.rq_psn;
    queue_pair->key = attributes.qkey;
    queue_pair->access = attributes.qp_access_flags;
    queue_pair->static_rate = static_rate(attributes.dest.static_rate);
    queue_pair->dscp = dscp_of(attributes.dest.traffic_class);
    queue_pair->timeout = attributes.timeout & 0x1f;
    queue_pair->retries = attributes.retry_cnt;
    queue_pair->receiver_retries = attributes.rnr_retry;
    queue_pair->receiver_timer = attributes.min_rnr_timer;
    queue_pair->port = attributes.port_num;
    queue_pair->packet = attributes.path_mtu == 0 ? queue_pair->packet : 128U << attributes.path_mtu;
    if (to == QueuePairState::Error) {
        engine_->transfers.enter_error(queue_pair);
        return;
    }
    queue_pair->state = to;
    if (to == QueuePairState::Reset) {
        Transfers::stop(*queue_pair);
        queue_pair->is_established = false;
        queue_pair->send_posted = queue_pair->send_done = 0;
        queue_pair->receive_posted = queue_pair->receive_done = 0;
        queue_pair->receiving.clear();
        queue_pair->packets_sent = queue_pair->packets_received = 0;
        ++queue_pair->life;
    } else if (to == QueuePairState::Rts && queue_pair->look_at_record()) {
        engine_->transfers.advance(queue_pair, monotonic_now());    // what was posted before
    }
}

void Hardware::remove_queue_pair(Device& device, std::uint32_t number)
{
    const Engine::Access access(*engine_);
    if (const auto queue_pair = of_number(engine_->of(device).queue_pairs, number)) {
        engine_->remove(queue_pair);
        device.with_counters([&](QueuePairCounters& counters) { counters.remove(number, queue_pair->wire); });
    }
}

DeviceTraffic Hardware::traffic(Device& device)
{
    const Engine::Access access(*engine_);
    const DeviceState& state = engine_->of(device);
    DeviceTraffic traffic;
    traffic.ports = ports_of(state);
    for (const auto& [number, queue_pair] : state.queue_pairs) {
        traffic.queue_pairs.emplace(number, queue_pair->traffic);
    }
    traffic.elements = state.arbiter.bytes_of_elements();
    traffic.classes = state.arbiter.bytes_of_classes();
    return traffic;
}

std::vector<PortTraffic> Hardware::traffic_of_ports(Device& device)
{
    const Engine::Access access(*engine_);
    return ports_of(engine_->of(device));
}

std::map<std::uint32_t, SentAndReceived> Hardware::traffic_of_queue_pairs(Device& device)
{
    const Engine::Access access(*engine_);
    std::map<std::uint32_t, SentAndReceived> traffic;
    for (const auto& [number, queue_pair] : engine_->of(device).queue_pairs) {
        traffic.emplace(number, queue_pair->wire);
    }
    return traffic;
}

void Hardware::clear_traffic(Device& device)
{
    const Engine::Access access(*engine_);
    for (auto& port : engine_->of(device).ports) {
        port.traffic = {};
    }
}

}    // namespace rdmaqos::emulator
