#include "tools/emulator/queue_pair_counters.h"

#include <algorithm>
#include <cerrno>

namespace rdmaqos::emulator {

const char* to_string(CountedValue value)
{
    switch (value) {
    case CountedValue::SentBytes:
        return "rdma_tx_bytes";
    case CountedValue::SentPackets:
        return "rdma_tx_packets";
    case CountedValue::ReceivedBytes:
        return "rdma_rx_bytes";
    case CountedValue::ReceivedPackets:
        return "rdma_rx_packets";
    }
    return "";
}

std::uint64_t value_of(CountedValue value, const SentAndReceived& moved)
{
    switch (value) {
    case CountedValue::SentBytes:
        return moved.sent.bytes;
    case CountedValue::SentPackets:
        return moved.sent.packets;
    case CountedValue::ReceivedBytes:
        return moved.received.bytes;
    case CountedValue::ReceivedPackets:
        return moved.received.packets;
    }
    return 0;
}

int QueuePairCounters::bind(std::uint32_t port, std::uint32_t queue_pair, std::optional<std::uint32_t> counter,
                            const SentAndReceived& moved, std::uint32_t& number)
{
    const bool is_bound = std::ranges::any_of(
        counters_, [&](const auto& entry) { return entry.second.bound.contains(queue_pair); });
    if (counter && !counters_.contains(*counter)) {
        return ENOENT;
    }
    if (is_bound) {
        return counter ? EINVAL : ENOMEM;    // as the kernel words each
    }
    if (counter && counters_.at(*counter).port != port) {
        return EINVAL;
    }
    if (!counter) {
        // The device's own counter of each port has the first number.
        constexpr std::uint32_t kFirst = 2;
        counter = kFirst;
        while (counters_.contains(*counter)) {
            ++*counter;
        }
        counters_[*counter] = {port, {}, {}, on_[port]};
    }
    counters_.at(*counter).bound.emplace(queue_pair, moved);
    number = *counter;
    return 0;
}

int QueuePairCounters::unbind(std::uint32_t port, std::uint32_t queue_pair, std::uint32_t counter,
                              const SentAndReceived& moved)
{
    const auto found = counters_.find(counter);
    if (found == counters_.end() || found->second.port != port || !found->second.bound.contains(queue_pair)) {
        return EINVAL;
    }
    remove(queue_pair, moved);
    return 0;
}

void QueuePairCounters::remove(std::uint32_t queue_pair, const SentAndReceived& moved)
{
    for (auto each = counters_.begin(); each != counters_.end(); ++each) {
        auto& bound = each->second.bound;
        if (const auto found = bound.find(queue_pair); found != bound.end()) {
            each->second.gone += moved - found->second;
            bound.erase(found);
            if (bound.empty()) {
                counters_.erase(each);
            }
            return;
        }
    }
}

std::vector<QueuePairCounters::Reading> QueuePairCounters::read(const Moved& moved) const
{
    std::vector<Reading> readings;
    for (const auto& [number, counter] : counters_) {
        Reading reading{number, counter.port, {}, {}};
        SentAndReceived sum = counter.gone;
        for (const auto& [queue_pair, before] : counter.bound) {
            reading.queue_pairs.push_back(queue_pair);
            sum += moved(queue_pair) - before;
        }
        for (const CountedValue value : counter.values) {
            reading.values[value] = value_of(value, sum);
        }
        readings.push_back(std::move(reading));
    }
    return readings;
}

bool QueuePairCounters::any(std::uint32_t port) const
{
    return std::ranges::any_of(counters_, [port](const auto& entry) { return entry.second.port == port; });
}

}    // namespace rdmaqos::emulator
