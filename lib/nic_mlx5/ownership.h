// Whose is a queue pair? The kernel's resource tracking knows, by RDMA netlink (RDMA_NLDEV_CMD_RES_QP_GET).
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <sys/types.h>

#include "lib/base/file.h"
#include "lib/tree/capabilities.h"

namespace rdmaqos::mlx5 {

// Whether a thread is one of this process.
[[nodiscard]] bool is_thread_of(pid_t thread, pid_t process);

// What a datagram of netlink says to the question with this sequence number. Pure, for any bytes.
enum class AnswerEnd : std::uint8_t {
    More,     // of a dump, or another question's answer: read on
    Found,
    Nothing,  // an error, the end of the dump, or not what netlink sends
};
struct DeviceAnswer {
    AnswerEnd end = AnswerEnd::More;
    std::uint32_t index = 0;    // if found
};
[[nodiscard]] DeviceAnswer find_device(std::span<const std::uint8_t> datagram, std::uint32_t sequence,
                                       const std::string& device);
struct OwnerAnswer {
    AnswerEnd end = AnswerEnd::More;
    // If found; each may be empty.
    std::optional<pid_t> owner;    // the thread that made it
    std::optional<QueuePairType> type;
    std::optional<QueuePairState> state;
};
[[nodiscard]] OwnerAnswer find_owner(std::span<const std::uint8_t> datagram, std::uint32_t sequence,
                                     std::uint32_t queue_pair);

class QueuePairOwners {
public:
    // `device`: "mlx5_0".
    explicit QueuePairOwners(std::string device) : device_(std::move(device)) {}

    // Found, or Nothing where the kernel does not tell: queue pairs of DEVX are not tracked, one that never left RESET
    // has no port yet, older kernels do not answer for one. The owner is empty too when the thread has ended.
    [[nodiscard]] OwnerAnswer find(std::uint32_t port, std::uint32_t queue_pair);

private:
    bool connect();

    std::string device_;
    UniqueFd socket_;
    std::uint32_t index_ = 0;    // of the device, for netlink
    std::uint32_t sequence_ = 0;
};

}    // namespace rdmaqos::mlx5
