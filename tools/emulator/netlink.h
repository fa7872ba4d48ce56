// RDMA netlink, as far as finding out who owns what needs it: the system's settings, devices and ports, how much of
// everything a device has, all its queue pairs, protection domains, completion queues and contexts (NLM_F_DUMP), the
// queue pair that RDMA_NLDEV_ATTR_RES_LQPN names, one protection domain or context, and counters of queue pairs
// (netlink_counters.h). Everything else is refused with EOPNOTSUPP, and libraries fall back to sysfs. And DCB netlink
// (dcb.h), whose messages have types of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tools/emulator/dcb.h"
#include "tools/emulator/device.h"
#include "tools/emulator/netlink_counters.h"

namespace rdmaqos::emulator {

// One queue pair as the kernel tracks it.
struct QueuePairOwner {
    std::uint32_t number = 0;
    std::uint32_t port = 0;    // 0: not in INIT or beyond yet
    pid_t process = 0;
    pid_t thread = 0;               // that made it; 0: it has ended
    std::uint8_t verbs_type = 0;    // enum ib_uverbs_qp_type; DEVX-created ones are not tracked, as in the kernel
    QueuePairState state = QueuePairState::Reset;
    std::uint32_t domain = 0;    // the number of its protection domain
    std::uint32_t remote = 0;
    std::uint32_t receive_psn = 0;
    std::uint32_t send_psn = 0;
    std::uint8_t path_migration = 0;
};
// `number`: only of this one.
[[nodiscard]] std::vector<QueuePairOwner> owners_of(const Device& device,
                                                    std::optional<std::uint32_t> number = std::nullopt);

// The datagrams that answer one request. Threads have the numbers that the reader's pid namespace gives them; reader 0:
// those of the emulator's.
[[nodiscard]] std::vector<std::vector<std::uint8_t>> netlink_answer(
    std::span<const std::uint8_t> request, const std::vector<std::shared_ptr<Device>>& devices, pid_t reader = 0,
    const TellDcb& tell = [](const NetlinkDatagram&) {}, KernelCounters counters = KernelCounters::Bytes);

struct NetlinkHost {
    const std::vector<std::shared_ptr<Device>>& devices;
    TellDcb tell;
    KernelCounters counters = KernelCounters::Bytes;
    std::function<void()> join;    // the socket gets what is told from now on (kJoinDcb)
};
// Reads one request from the socket and answers it. False: the other end is gone.
[[nodiscard]] bool answer_netlink(int socket, const NetlinkHost& host);

}    // namespace rdmaqos::emulator
