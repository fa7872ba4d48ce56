// Which queue pairs are in an open device file of another process: pairs the handles in it with the numbers that RDMA
// netlink tells.
//
//     file ── INFO_HANDLES ──▶ handles ── QUERY_QP ──▶ state, peer, address
//     handle + candidate number ── DEVX_OBJ_QUERY ──▶ the kernel: they belong together, or EINVAL
//
// The device is asked only about pairs that belong together; a wrong one costs no command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "lib/nic_mlx5/uverbs.h"

namespace rdmaqos::mlx5 {

// Where P_Keys and GIDs are looked up.
struct PortName {
    std::filesystem::path sys;
    std::string device;    // "mlx5_0"
    std::uint32_t port = 1;
};

// As Backend::find_queue_pairs. Those of other ports are left out.
[[nodiscard]] Answer<QueuePairSearch> find_queue_pairs(int fd, const PortName& port,
                                                       std::vector<SoughtQueuePair> sought,
                                                       const std::set<std::uint32_t>& known);

}    // namespace rdmaqos::mlx5
