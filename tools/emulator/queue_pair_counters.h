// The counters that an emulated device's kernel binds to queue pairs (RDMA netlink's STAT commands, `rdma statistic
// qp`). Pure: what queue pairs have sent and received is given.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tools/emulator/datapath/traffic.h"

namespace rdmaqos::emulator {

// The optional ones, as mlx5 names them since Linux 6.16.
enum class CountedValue : std::uint8_t { SentBytes, SentPackets, ReceivedBytes, ReceivedPackets };
inline constexpr std::size_t kCountedValues = 4;
[[nodiscard]] const char* to_string(CountedValue value);
[[nodiscard]] std::uint64_t value_of(CountedValue value, const SentAndReceived& moved);

class QueuePairCounters {
public:
    struct Reading {
        std::uint32_t number = 0;
        std::uint32_t port = 0;
        std::vector<std::uint32_t> queue_pairs;
        std::map<CountedValue, std::uint64_t> values;
    };
    using Moved = std::function<SentAndReceived(std::uint32_t queue_pair)>;

    [[nodiscard]] const std::set<CountedValue>& switched_on(std::uint32_t port) { return on_[port]; }
    void switch_on(std::uint32_t port, std::set<CountedValue> values) { on_[port] = std::move(values); }
    // To a new one if `counter` is empty. 0 and its number, or the errno with which the kernel refuses it.
    int bind(std::uint32_t port, std::uint32_t queue_pair, std::optional<std::uint32_t> counter,
             const SentAndReceived& moved, std::uint32_t& number);
    int unbind(std::uint32_t port, std::uint32_t queue_pair, std::uint32_t counter, const SentAndReceived& moved);
    // It ends.
    void remove(std::uint32_t queue_pair, const SentAndReceived& moved);
    [[nodiscard]] std::vector<Reading> read(const Moved& moved) const;
    // None but those of this port.
    [[nodiscard]] bool any(std::uint32_t port) const;

private:
    struct Counter {
        std::uint32_t port = 0;
        std::map<std::uint32_t, SentAndReceived> bound;    // queue pairs: what each had moved when it was bound
        SentAndReceived gone;                              // by those that are bound no more
        std::set<CountedValue> values;                     // that were on when its first queue pair was bound
    };

    std::map<std::uint32_t, Counter> counters_;
    std::map<std::uint32_t, std::set<CountedValue>> on_;    // by port
};

}    // namespace rdmaqos::emulator
