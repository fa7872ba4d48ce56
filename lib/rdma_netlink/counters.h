// Counters of queue pairs, as `rdma statistic qp` shows them: what a group of queue pairs of one port has sent and
// received. A queue pair is bound to one of them at most; a counter goes with the last of its queue pairs.
//
// Which values there are depends on the driver. mlx5 counts bytes and packets (rdma_tx_bytes, ...) since Linux 6.16, by
// "optional counters" of the port: queue pairs that are bound while one is switched on are counted by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/rdma_netlink/connection.h"
#include "lib/rdma_netlink/queue_pairs.h"

namespace rdmaqos::rdma_netlink {

struct QueuePairCounter {
    std::uint32_t number = 0;    // of the device
    std::uint32_t port = 0;
    std::vector<std::uint32_t> queue_pairs{};
    // Since they were bound; empty: not counted.
    std::optional<std::uint64_t> sent_bytes{};
    std::optional<std::uint64_t> sent_packets{};
    std::optional<std::uint64_t> received_bytes{};
    std::optional<std::uint64_t> received_packets{};

    friend bool operator==(const QueuePairCounter&, const QueuePairCounter&) = default;
};

struct OptionalCounter {
    std::string name;
    std::uint32_t index = 0;
    bool is_on = false;

    friend bool operator==(const OptionalCounter&, const OptionalCounter&) = default;
};

enum class CounterMode : std::uint8_t {
    None,
    Automatic,    // the kernel binds each queue pair when it is set up, as an administrator has asked it to
    Manual,
};

// Adds what a datagram of a dump says. Nothing ends the dump; `failed` then is 0 or an errno. Pure.
AnswerEnd read_counters(Bytes datagram, std::uint32_t sequence, std::vector<QueuePairCounter>& counters, int& failed);
// Of the answer's attributes. Empty: it says nothing of them. Pure.
[[nodiscard]] std::optional<std::vector<OptionalCounter>> read_optional_counters(Bytes attributes);
[[nodiscard]] std::optional<CounterMode> read_counter_mode(Bytes attributes);

// Asks the kernel, on an open connection. Errors: Io, with the kernel's errno.

// Costs an mlx5 device a command for each, and one for each value that is optional.
[[nodiscard]] Result<std::vector<QueuePairCounter>> list_counters(Connection& kernel, const TrackedDevice& device);
[[nodiscard]] Result<CounterMode> counter_mode(Connection& kernel, const TrackedDevice& device, std::uint32_t port);
// Those that its driver has (since Linux 5.16).
[[nodiscard]] Result<std::vector<OptionalCounter>>
list_optional_counters(Connection& kernel, const TrackedDevice& device, std::uint32_t port);

// The following need CAP_NET_ADMIN in the first user namespace.

// Switches optional counters on, those of `indexes` and no others.
[[nodiscard]] Result<void> set_optional_counters(Connection& kernel, const TrackedDevice& device, std::uint32_t port,
                                                 const std::vector<std::uint32_t>& indexes);
// Binds a queue pair of a port to a counter, or to a new one, and returns its number. The kernel refuses one that is
// bound (EINVAL), and all while the mode is Automatic.
[[nodiscard]] Result<std::uint32_t> bind_counter(Connection& kernel, const TrackedDevice& device, std::uint32_t port,
                                                 std::uint32_t queue_pair, std::optional<std::uint32_t> counter);
// What it has counted stays in the counter, as long as that has another queue pair.
[[nodiscard]] Result<void> unbind_counter(Connection& kernel, const TrackedDevice& device, std::uint32_t port,
                                          std::uint32_t queue_pair, std::uint32_t counter);

}    // namespace rdmaqos::rdma_netlink
