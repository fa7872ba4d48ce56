// Which queue pairs are in an open device file of another process: pairs the handles in it with the numbers that RDMA
// netlink tells.
//
//     file ── INFO_HANDLES ──▶ handles, the newest first
//     handle + highest number sought ── DEVX_OBJ_QUERY ──▶ state, peer, address, leaves; EINVAL: not a pair
//     handle ── QUERY_QP of verbs ──▶ peer ──▶ the numbers that it may be ── DEVX_OBJ_QUERY ──▶ one of them, or none
//
// The kernel passes a DEVX_OBJ_QUERY on only if handle and number belong together; a wrong pair costs no command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
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
    LinkLayer link_layer = LinkLayer::InfiniBand;
};

struct FileSearch {
    QueuePairSearch search;
    std::vector<std::optional<LeafIds>>
        leaves;    // of those found, at the same places; empty: the device does not tell
};

// As Backend::find_queue_pairs. Those of other ports are left out.
[[nodiscard]] Answer<FileSearch> find_queue_pairs(int fd, const PortName& port, bool with_leaves,
                                                  std::vector<SoughtQueuePair> sought,
                                                  const std::set<std::uint32_t>& known);

}    // namespace rdmaqos::mlx5
