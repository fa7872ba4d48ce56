// Commands on an open uverbs file, our own or a client's, by the kernel's public ioctl ABI. Each may block on firmware.
//
// The kernel lets a command reach only an object of the file it comes by, and stamps it with that file's identity;
// nothing here depends on which process opened the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "lib/mlx5/prm.h"
#include "lib/nic/backend.h"
#include "lib/nic_mlx5/commands.h"

namespace rdmaqos::mlx5 {

// How a call failed. The firmware's own words are there if the kernel passed them on (older ones do not).
struct Failure {
    int sys_errno = 0;
    std::uint8_t status = 0;
    std::uint32_t syndrome = 0;

    friend bool operator==(const Failure&, const Failure&) = default;
};

// "EREMOTEIO, status 0x3 (bad parameter), syndrome 0x51c00a"
[[nodiscard]] std::string to_string(const Failure& failure);
// What the firmware's status means as an errno; without a status, the call's own.
[[nodiscard]] int errno_of(const Failure& failure);

// The file is dead, or (the kernel says it alike) the firmware has failed: EIO, ENODEV, ENXIO. See answers().
[[nodiscard]] bool is_gone(const Failure& failure);

template <typename T>
using Answer = tl::expected<T, Failure>;

struct Created {
    std::uint32_t handle = 0;    // of the file
    std::uint32_t id = 0;        // the firmware's
};

[[nodiscard]] Answer<Mailbox> devx_command(int fd, const Mailbox& command, std::size_t answer_bytes);
// Whether the device answers through this file.
[[nodiscard]] bool answers(int fd);
// Whether the device that the file was opened of is still there, by the kernel's word alone: its firmware is not asked.
[[nodiscard]] bool is_attached(int fd);
// The id is that of a general object or of a queue pair, or of an element that another command makes.
[[nodiscard]] Answer<Created> devx_create(int fd, const Mailbox& command, const ElementCommands& by = kObjectCommands);
// A scheduling element. EOVERFLOW: a leaf whose id is above 16 bits, all that MODIFY_SQ has room for; it is destroyed.
[[nodiscard]] Answer<Created> make_element(int fd, ElementKind kind, ObjectId parent,
                                           const ElementAttributes& attributes,
                                           const ElementCommands& by = kObjectCommands);
[[nodiscard]] Answer<ElementAnswer> read_element(int fd, const Created& element,
                                                 const ElementCommands& by = kObjectCommands);
[[nodiscard]] Answer<void> devx_modify(int fd, std::uint32_t handle, const Mailbox& command);
[[nodiscard]] Answer<Mailbox> devx_query(int fd, std::uint32_t handle, const Mailbox& command,
                                         std::size_t answer_bytes);
[[nodiscard]] Answer<void> devx_destroy(int fd, std::uint32_t handle);

[[nodiscard]] Answer<VerbsQueuePair> query_verbs(int fd, std::uint32_t handle);
[[nodiscard]] Answer<QueuePairState> query_state(int fd, std::uint32_t handle);
// The handles of all queue pairs in the file that verbs made. EOPNOTSUPP, EPROTONOSUPPORT: Linux before 5.0.
[[nodiscard]] Answer<std::vector<std::uint32_t>> queue_pair_handles(int fd);
// Of all objects in it that DEVX made, the newest first. Errors: as those of queue_pair_handles().
[[nodiscard]] Answer<std::vector<std::uint32_t>> devx_handles(int fd);
// MODIFY_QP_EX with the rate alone; empty: 0, which lifts the limit. What check_range() refuses is not to be asked for.
[[nodiscard]] Answer<void> modify_rate(int fd, std::uint32_t handle, const std::optional<RateLimit>& rate);

}    // namespace rdmaqos::mlx5
