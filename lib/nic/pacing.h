// What a device can do with a limit per queue pair (packet pacing), and what to tell people when it cannot.
//
// Pure: nothing here talks to a device.
#pragma once

#include <optional>
#include <string>

#include "lib/base/error.h"
#include "lib/tree/capabilities.h"
#include "lib/tree/element.h"

namespace rdmaqos {

// A limit as the device can take it.
struct PacingFit {
    std::optional<RateLimit> limit;    // empty: it cannot; `shortfall` says why
    std::string shortfall;             // what was asked and is not held; empty: nothing
    std::string note;                  // what is different, but does not matter; may be empty

    friend bool operator==(const PacingFit&, const PacingFit&) = default;
};

// Rates are rounded down to whole Mbit/s, at least 1: each different rate costs an entry of a small table. A known
// range of rates is kept to: above it the device's maximum is taken, below it nothing. A bound of 0 is not known
// (some devices report 0 for both). A burst or packet size that the device does not take is left out, and said.
// The type is one that the device can pace.
[[nodiscard]] PacingFit fit(const RateLimit& asked, const PacingCapabilities& pacing);

// What an errno means that was the answer to a limit (empty: it was to be lifted): which capability is missing, and
// what to change. EINVAL, ENOSPC, EOPNOTSUPP, ENOSYS; any other is a DeviceFailed.
[[nodiscard]] Error explain_rate_refusal(int sys_errno, const std::optional<RateLimit>& limit, QueuePairType type,
                                         const PacingCapabilities& pacing);

}    // namespace rdmaqos
