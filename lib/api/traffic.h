// The bytes that a device's port has moved with each priority.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/api/record.h"
#include "lib/port_bytes/port_bytes.h"

namespace rdmaqos::api {

struct PriorityBytes {
    std::uint32_t priority = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::optional<std::uint64_t> sent_lately{};
    std::optional<std::uint64_t> received_lately{};
};

template <>
struct Table<PriorityBytes> {
    using P = PriorityBytes;
    static constexpr auto keys = std::tuple{
        key<&P::priority>("priority", "0 to 7"),
        key<&P::sent>("sent", "bytes of all packets, headers included, since the interface exists"),
        key<&P::received>("received", "likewise"),
        key<&P::sent_lately>("sent-lately", "of them, those of `interval`; absent with it"),
        key<&P::received_lately>("received-lately", "likewise"),
    };
};

struct PortTraffic {
    std::vector<PriorityBytes> priorities{};    // empty: nothing is known
    std::optional<std::uint64_t> rdma_sent{};
    std::optional<std::uint64_t> rdma_received{};
    std::optional<std::uint64_t> rdma_sent_lately{};
    std::optional<std::uint64_t> rdma_received_lately{};
    std::optional<std::uint64_t> read_at{};
    std::optional<std::uint64_t> interval{};
};

template <>
struct Table<PortTraffic> {
    using T = PortTraffic;
    static constexpr auto keys = std::tuple{
        key_unless_empty<&T::priorities>("priorities", "the eight [priorities](#bytes-of-a-priority); absent: the "
                                                       "driver does not count by priority, or was not asked yet"),
        key<&T::rdma_sent>("rdma-sent", "bytes that RDMA has sent, with all priorities together; absent: the driver "
                                        "does not say"),
        key<&T::rdma_received>("rdma-received", "likewise"),
        key<&T::rdma_sent_lately>("rdma-sent-lately", "of them, those of `interval`; absent with it"),
        key<&T::rdma_received_lately>("rdma-received-lately", "likewise"),
        key<&T::read_at>("read-at", "seconds since 1970"),
        key<&T::interval>("interval", "µs between the last two readings; absent: there was one only, or the counters "
                                      "have started again"),
    };
};

// What was moved in `interval`; empty: that is not known.
[[nodiscard]] inline std::optional<port_bytes::PortBytes> moved_lately(const PortTraffic& traffic)
{
    port_bytes::PortBytes moved;
    for (const auto& each : traffic.priorities) {
        if (each.priority >= port_bytes::kPriorities || !each.sent_lately || !each.received_lately) {
            return std::nullopt;
        }
        moved.sent.at(each.priority) = *each.sent_lately;
        moved.received.at(each.priority) = *each.received_lately;
    }
    moved.rdma_sent = traffic.rdma_sent_lately;
    moved.rdma_received = traffic.rdma_received_lately;
    return traffic.priorities.empty() ? std::nullopt : std::optional(moved);
}

}    // namespace rdmaqos::api
