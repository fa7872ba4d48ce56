// What queue pairs of sessions have sent and received, as counters of the kernel say (lib/rdma_netlink/counters.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/model/session.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/rdma_netlink/counters.h"
#include "policy/model/identity.h"

namespace rdmaqos {

// Those of one group share a counter: those of a session in one leaf.
struct QueuePairToCount {
    std::uint32_t number = 0;
    std::uint64_t group = 0;
    SessionId session{};
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
    bool is_read = false;    // the kernel has listed its counters
    std::vector<rdma_netlink::QueuePairCounter> counters{};
    TimePoint taken_at{};
    // Why there are not more of them; empty: nothing has kept us from it.
    std::optional<WhyNotCounted> hindrance{};
    std::string error{};    // the kernel's, of KernelRefuses and where counters cannot be read
};

struct CountedTraffic {
    std::vector<CountedPort> ports;    // of those that were asked for
};

// A counter of a port, and whose queue pairs it has.
struct ProgramCounter {
    rdma_netlink::QueuePairCounter counter;
    std::shared_ptr<const Identity> owner;    // null: nobody's here, or of more than one process
    std::optional<SessionId> session;         // empty: likewise
    std::string level;                        // "": they are in more than one, or in none
    std::string leaf;
};

struct CountersOfPort {
    std::string key;
    bool is_read = false;    // the kernel has listed them
    std::vector<ProgramCounter> counters{};
    std::size_t queue_pairs = 0;    // of sessions
    std::size_t counted = 0;        // of them, those whose bytes are counted
    std::string reason;             // why that is not all, with what to do; "": it is
    TimePoint taken_at{};
};

}    // namespace rdmaqos
