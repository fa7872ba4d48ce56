// Whose is a queue pair? The kernel's resource tracking knows, by RDMA netlink (RDMA_NLDEV_CMD_RES_QP_GET).
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "lib/base/file.h"

namespace rdmaqos::mlx5 {

class QueuePairOwners {
public:
    // `device`: "mlx5_0".
    explicit QueuePairOwners(std::string device) : device_(std::move(device)) {}

    // The process that made the queue pair. Nothing where the kernel does not tell: queue pairs of DEVX are not
    // tracked, older kernels do not answer for one.
    [[nodiscard]] std::optional<pid_t> owner_of(std::uint32_t queue_pair);

private:
    bool connect();

    std::string device_;
    UniqueFd socket_;
    std::uint32_t index_ = 0;    // of the device, for netlink
    std::uint32_t sequence_ = 0;
};

}    // namespace rdmaqos::mlx5
