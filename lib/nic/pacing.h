// What to tell people when a device refuses a limit of a queue pair (packet pacing). Which limits it can hold is
// decided in lib/tree/queue_pair_limit.h.
//
// Pure: nothing here talks to a device.
#pragma once

#include <optional>
#include <string>

#include "lib/base/error.h"
#include "lib/tree/capabilities.h"
#include "lib/tree/element.h"

namespace rdmaqos {

// What an errno means that was the answer to a limit (empty: it was to be lifted): which capability is missing, and
// what to change. EINVAL, ENOSPC, EOPNOTSUPP, ENOSYS; any other is a DeviceFailed.
[[nodiscard]] Error explain_rate_refusal(int sys_errno, const std::optional<RateLimit>& limit, QueuePairType type,
                                         const PacingCapabilities& pacing);

}    // namespace rdmaqos
