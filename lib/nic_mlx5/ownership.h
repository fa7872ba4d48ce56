// Whose is a queue pair? The kernel's resource tracking knows, by RDMA netlink (RDMA_NLDEV_CMD_RES_QP_GET).
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <sys/types.h>

#include "lib/rdma_netlink/connection.h"
#include "lib/tree/capabilities.h"

namespace rdmaqos::mlx5 {

// Whether a thread is one of this process.
[[nodiscard]] bool is_thread_of(pid_t thread, pid_t process);

// What a datagram of netlink says to the question with this sequence number. Pure, for any bytes.
using rdma_netlink::AnswerEnd;
struct DeviceAnswer {
    AnswerEnd end = AnswerEnd::More;
    std::uint32_t index = 0;    // if found
};
[[nodiscard]] DeviceAnswer find_device(std::span<const std::uint8_t> datagram, std::uint32_t sequence,
                                       const std::string& device);
struct OwnerAnswer {
    AnswerEnd end = AnswerEnd::More;
    // If found; each may be empty.
    std::optional<pid_t> owner;    // the thread that made it; empty once that has ended
    std::optional<std::uint32_t> protection_domain;
    std::optional<QueuePairType> type;
    std::optional<QueuePairState> state;
};
[[nodiscard]] OwnerAnswer find_owner(std::span<const std::uint8_t> datagram, std::uint32_t sequence,
                                     std::uint32_t queue_pair);

// What a queue pair is in: a protection domain, and the open device file (a "context" to the kernel). Both often
// outlive the thread that made it.
enum class Surrounding : std::uint8_t { ProtectionDomain, OpenFile };
struct SurroundingAnswer {
    AnswerEnd end = AnswerEnd::More;
    // If found; each may be empty.
    std::optional<pid_t> maker;              // the thread that made or opened it
    std::optional<std::uint32_t> context;    // of a protection domain
};
[[nodiscard]] SurroundingAnswer find_surrounding(std::span<const std::uint8_t> datagram, std::uint32_t sequence,
                                                 Surrounding which, std::uint32_t number);

class QueuePairOwners {
public:
    // `device`: "mlx5_0". Answers are of the device that has this name now: not of one that comes back under it, nor of
    // another that gets it.
    explicit QueuePairOwners(std::string device) : device_(std::move(device)) { connect(); }

    // Found, or Nothing where the kernel does not tell: queue pairs of DEVX are not tracked, one that never left RESET
    // has no port yet, older kernels do not answer for one. The owner is empty too when the thread has ended.
    [[nodiscard]] OwnerAnswer find(std::uint32_t port, std::uint32_t queue_pair);
    // Whether the protection domain of a queue pair was made, or the device file that it is in was opened, by a thread
    // of this process that still runs. That speaks for the process; if it is not so, nothing speaks against it: a file
    // can be inherited.
    [[nodiscard]] bool is_in_reach_of(pid_t process, std::uint32_t protection_domain);

private:
    bool connect();
    [[nodiscard]] SurroundingAnswer find(Surrounding which, std::uint32_t number);

    std::string device_;
    rdma_netlink::Connection kernel_;
    std::optional<std::uint32_t> index_;    // of the device, for netlink; the kernel gives none twice
};

}    // namespace rdmaqos::mlx5
