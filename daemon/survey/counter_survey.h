// Reads the counters of queue pairs, and binds them to those that have none.
//
// Nothing is kept here: which queue pairs a counter has is what the kernel says, so a daemon that was restarted goes on
// with the counters of the one before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/model/counted_traffic.h"
#include "lib/base/clock.h"

namespace rdmaqos {

// A counter that has more is not listed by the kernel: what it says of one must fit into a datagram.
inline constexpr std::size_t kMostOfCounter = 512;

struct CounterBinding {
    std::uint32_t queue_pair = 0;
    std::uint64_t group = 0;
    std::optional<std::uint32_t> counter;    // that has others of its group; empty: it gets a new one, or that of the
                                             // last binding of its group, which is full when kMostOfCounter have it
    std::optional<std::uint32_t> bound_to{};    // to be taken out of that one first

    friend bool operator==(const CounterBinding&, const CounterBinding&) = default;
};

// Those that have no counter yet, in their order, and those of a session that have moved to another leaf than others in
// their counter. A counter with queue pairs of another session, or of nobody here, is not used, and is left as it is:
// somebody else has bound them. Pure.
[[nodiscard]] std::vector<CounterBinding> plan_bindings(const std::vector<rdma_netlink::QueuePairCounter>& counters,
                                                        const PortToCount& port);

// Waits for the kernel: not for the main loop.
[[nodiscard]] CountedTraffic survey_counters(const std::vector<PortToCount>& ports, const Clock& clock);

}    // namespace rdmaqos
