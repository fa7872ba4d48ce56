// From a refused command to an Error that tells an administrator what to do. Pure.
//
// The device is named by the caller: "mlx5_0: attach: ...".
#pragma once

#include "lib/base/error.h"
#include "lib/nic_mlx5/uverbs.h"

namespace rdmaqos::mlx5 {

enum class Command : std::uint8_t {
    CreateElement,
    ModifyElement,
    QueryElement,
    DestroyElement,
    Place,
    SetRate,
    QueryQueuePair,
    QueryCapabilities,
};
[[nodiscard]] std::string_view to_string(Command command);

// The codes are those that Backend promises for the operation. The text names the command, the firmware's status and
// syndrome where there are any, the likely reason, and what to change.
[[nodiscard]] Error explain(Command command, const Failure& failure);

// A DeviceGone may be less than that: a kernel that passes on no status gives EIO for an internal error of the firmware
// too, and a client may hold a file from before a reset. What the error means when the device does answer by our own
// file; `file_answers`: by the file of the command as well.
[[nodiscard]] Error not_gone(Error error, bool file_answers);

// "queue pair 17 is in RTR, ..." with what its owner has to do before it can be attached or moved.
[[nodiscard]] Error bad_state(std::uint32_t queue_pair, QueuePairType type, QueuePairState state);

}    // namespace rdmaqos::mlx5
