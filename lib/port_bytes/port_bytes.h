// How many bytes a port has moved with each priority, and how many RDMA has moved with all of them: whether traffic
// arrives in the traffic classes that it was meant for. These are the only numbers that have everybody's: queue pairs
// made through DEVX, the kernel's, those of containers and virtual machines.
//
//     priority 0   ████               all packets of the port, TCP's too
//     priority 3   ██████████████
//     RDMA         ███████████████    of all priorities together
//
// No counter says how much of a priority RDMA is. But what RDMA sent beyond all that was sent with the priorities of
// the levels must have been sent with others: that is certain, whatever else the port does.
//
// Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/port_bytes/counters.h"

namespace rdmaqos::port_bytes {

inline constexpr std::size_t kPriorities = 8;
using OfPriority = std::array<std::uint64_t, kPriorities>;

// Since a moment of the driver's choosing. They only grow, unless they start again.
struct PortBytes {
    OfPriority sent{};
    OfPriority received{};
    // Of RDMA, with whatever priority; empty: the driver does not say.
    std::optional<std::uint64_t> rdma_sent;
    std::optional<std::uint64_t> rdma_received;

    friend bool operator==(const PortBytes&, const PortBytes&) = default;
};

// By the names that mlx5, mlx4 and bnxt have. Empty: this driver does not count by priority.
[[nodiscard]] std::optional<PortBytes> bytes_in(std::span<const Counter> counters);

// What was moved in between. Empty: one of them is less than before, so that they have started again.
[[nodiscard]] std::optional<PortBytes> moved_between(const PortBytes& before, const PortBytes& now);

// A level, and the priority that its packets have on this port.
struct MeantPriority {
    std::string level;
    std::uint8_t priority = 0;

    friend bool operator==(const MeantPriority&, const MeantPriority&) = default;
};

// Of one priority that was sent with.
struct SentWith {
    std::uint8_t priority = 0;
    std::uint64_t bytes = 0;            // of all packets
    std::vector<std::string> levels;    // whose priority it is; empty: none's

    friend bool operator==(const SentWith&, const SentWith&) = default;
};

struct ByteCheck {
    std::uint64_t rdma = 0;        // bytes that RDMA sent
    std::vector<SentWith> with;    // in the order of priorities
    // Of `rdma`, what cannot have been sent with a priority of a level, and what at most was not.
    std::uint64_t outside_at_least = 0;
    std::uint64_t outside_at_most = 0;

    friend bool operator==(const ByteCheck&, const ByteCheck&) = default;
};

// Empty: it is not known how much of it was RDMA.
[[nodiscard]] std::optional<ByteCheck> check_bytes(const PortBytes& moved, std::span<const MeantPriority> levels);

// Whether so much is outside that it is worth saying: counters of RDMA and of priorities are not read at one moment,
// and count headers differently.
[[nodiscard]] bool is_outside(const ByteCheck& check);

// "3.9 TB": counters are too large to be read to the byte.
[[nodiscard]] std::string rough(std::uint64_t bytes);

// "at least 91 % of 4.2 GB that RDMA sent had priorities of no level: priority 0
// (3.9 GB)"; empty unless is_outside().
[[nodiscard]] std::string outside_in_words(const ByteCheck& check);

}    // namespace rdmaqos::port_bytes
