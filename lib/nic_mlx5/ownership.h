// What the kernel's resource tracking knows of a queue pair, by RDMA netlink (RDMA_NLDEV_CMD_RES_QP_GET): whose it is,
// its type and state.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "lib/base/file.h"
#include "lib/tree/capabilities.h"

namespace rdmaqos::mlx5 {

struct TrackedQueuePair {
    pid_t owner = 0;                        // the process that made it
    std::optional<QueuePairType> type;      // empty: not one that can be placed here
    std::optional<QueuePairState> state;

    friend bool operator==(const TrackedQueuePair&, const TrackedQueuePair&) = default;
};

class QueuePairOwners {
public:
    // `device`: "mlx5_0".
    explicit QueuePairOwners(std::string device) : device_(std::move(device)) {}

    // Nothing where the kernel does not tell: queue pairs of DEVX are not tracked, older kernels do not answer for one.
    [[nodiscard]] std::optional<TrackedQueuePair> find(std::uint32_t queue_pair);

private:
    bool connect();

    std::string device_;
    UniqueFd socket_;
    std::uint32_t index_ = 0;    // of the device, for netlink
    std::uint32_t sequence_ = 0;
};

}    // namespace rdmaqos::mlx5
