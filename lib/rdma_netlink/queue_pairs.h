// All queue pairs of this host that the kernel tracks: those of programs, made through verbs, and the kernel's own.
// Those made through DEVX, and XRC targets of a closed file, are not among them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "lib/base/result.h"
#include "lib/rdma_netlink/connection.h"
#include "lib/tree/capabilities.h"

namespace rdmaqos::rdma_netlink {

struct TrackedQueuePair {
    std::uint32_t number = 0;
    std::uint32_t port = 0;    // 0: it has none yet
    std::uint8_t type = 0;     // as the kernel numbers them (enum ib_qp_type)
    std::optional<QueuePairState> state;
    std::optional<std::uint32_t> remote;    // number of its peer's; of connected ones
    std::optional<std::uint32_t> domain;    // protection domain
    std::optional<pid_t> thread;            // that made it; empty once that has ended
    std::string kernel_name;                // of the module it belongs to ("ib_core"); "": a program's

    friend bool operator==(const TrackedQueuePair&, const TrackedQueuePair&) = default;
};

// "rc", "ud", "gsi", "xrc-ini", "driver", ...; "type 77" for one that is not known.
[[nodiscard]] std::string name_of_type(std::uint8_t type);
// Empty: one that cannot be in a leaf.
[[nodiscard]] std::optional<QueuePairType> attachable_type(std::uint8_t type);

struct TrackedDevice {
    std::uint32_t index = 0;    // the kernel's, for this appearance of the device
    std::string name;

    friend bool operator==(const TrackedDevice&, const TrackedDevice&) = default;
};
// What a question about one begins with.
[[nodiscard]] std::vector<std::uint8_t> attributes_of(const TrackedDevice& device);

// What queue pairs are in: a protection domain, which is in an open device file ("context"). Both often outlive the
// thread that made the queue pair.
enum class HolderKind : std::uint8_t { Domain, Context };
struct Holder {
    std::uint32_t number = 0;
    std::optional<std::uint32_t> context;    // of a domain
    std::optional<pid_t> thread;             // that made it; empty once that has ended

    friend bool operator==(const Holder&, const Holder&) = default;
};

// An entry of a dump, or the answer about one. Empty: it has no number. Pure.
[[nodiscard]] std::optional<TrackedQueuePair> read_queue_pair(Bytes entry);
[[nodiscard]] std::optional<Holder> read_holder(Bytes entry, HolderKind kind);

// Adds what a datagram of a dump says. Nothing ends the dump; `failed` then is 0 or an errno. Pure.
AnswerEnd read_devices(Bytes datagram, std::uint32_t sequence, std::vector<TrackedDevice>& devices, int& failed);
AnswerEnd read_queue_pairs(Bytes datagram, std::uint32_t sequence, std::vector<TrackedQueuePair>& queue_pairs,
                           int& failed);
AnswerEnd read_holders(Bytes datagram, std::uint32_t sequence, HolderKind kind, std::vector<Holder>& holders,
                       int& failed);
// Of the attributes of the answer about one: an entry or (as in a dump) a table with it. Empty: it has no number. Pure.
[[nodiscard]] std::optional<TrackedQueuePair> read_sole_queue_pair(Bytes attributes);

// How many a device has of each.
struct ResourceCounts {
    std::uint64_t queue_pairs = 0;
    std::uint64_t contexts = 0;    // open device files

    friend bool operator==(const ResourceCounts&, const ResourceCounts&) = default;
};
// Of the answer's attributes. Empty: it says nothing of them. Pure.
[[nodiscard]] std::optional<ResourceCounts> read_counts(Bytes attributes);

// Whether each device belongs to one network namespace (`rdma system`: netns exclusive), and the others do not see it.
// Of the answer's attributes. Empty: it does not say. Pure.
[[nodiscard]] std::optional<bool> read_exclusive(Bytes attributes);

// Asks the kernel, on an open connection. Errors: Io.
[[nodiscard]] Result<std::vector<TrackedDevice>> list_devices(Connection& kernel);
[[nodiscard]] std::optional<bool> namespaces_are_exclusive(Connection& kernel);
// Every queue pair costs mlx5 devices a command.
[[nodiscard]] Result<std::vector<TrackedQueuePair>> list_queue_pairs(Connection& kernel, const TrackedDevice& device);
// Costs a device no command.
[[nodiscard]] Result<ResourceCounts> count_resources(Connection& kernel, const TrackedDevice& device);
// One, by the port it has. Empty: it is not there, has another port, or is not tracked.
[[nodiscard]] std::optional<TrackedQueuePair> ask_for_queue_pair(Connection& kernel, const TrackedDevice& device,
                                                                 std::uint32_t port, std::uint32_t number);
[[nodiscard]] Result<std::vector<Holder>> list_holders(Connection& kernel, const TrackedDevice& device,
                                                       HolderKind kind);

}    // namespace rdmaqos::rdma_netlink
