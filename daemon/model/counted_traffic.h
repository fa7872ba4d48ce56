// What queue pairs of sessions have sent and received, as counters of the kernel say (lib/rdma_netlink/counters.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/rdma_netlink/counters.h"

namespace rdmaqos {

// Those of one group share a counter: those of a session.
struct QueuePairToCount {
    std::uint32_t number = 0;
    std::uint64_t group = 0;
};

struct PortToCount {
    std::string key;     // "mlx5_0/1"
    std::string name;    // "mlx5_0"
    std::uint32_t port = 0;
    std::vector<QueuePairToCount> queue_pairs;    // to which counters are bound; empty: none are
};

enum class WhyNotCounted : std::uint8_t {
    KernelCannot,     // no bytes, for this driver
    BoundByKernel,    // automatically, which keeps others from binding
    NotPermitted,     // without CAP_NET_ADMIN
    KernelRefuses,
};

struct CountedPort {
    std::string key;
    std::vector<rdma_netlink::QueuePairCounter> counters;
    TimePoint taken_at{};
    // Why there are not more of them; empty: nothing has kept us from it.
    std::optional<WhyNotCounted> hindrance{};
    std::string error{};    // the kernel's, of KernelRefuses and where counters cannot be read
};

struct CountedTraffic {
    std::vector<CountedPort> ports;    // of those that were asked for
};

}    // namespace rdmaqos
