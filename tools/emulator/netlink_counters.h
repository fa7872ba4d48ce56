// The commands of RDMA netlink for counters of queue pairs: RDMA_NLDEV_CMD_STAT_SET, _GET, _DEL and _GET_STATUS, as
// Linux 6.16 answers them for mlx5. The kernel's automatic binding is not played: EOPNOTSUPP.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tools/emulator/netlink_message.h"

namespace rdmaqos::emulator {

class Device;

// What counters of queue pairs count.
enum class KernelCounters : std::uint8_t {
    Bytes,       // and packets: since Linux 6.16
    Requests,    // that responders were sent, and errors: before
};

struct StatRequest {
    const Request& header;
    std::uint16_t command = 0;
    bool is_dump = false;
    std::span<const std::uint8_t> attributes;
};

[[nodiscard]] bool is_stat(std::uint16_t command);
// The datagrams of the answer.
[[nodiscard]] std::vector<NetlinkDatagram> stat_answer(const StatRequest& request, Device& device,
                                                       KernelCounters counters);

}    // namespace rdmaqos::emulator
