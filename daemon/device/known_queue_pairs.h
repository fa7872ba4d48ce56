// What reports say of queue pairs, against what was known of them. Functions over values.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "daemon/device/device_facts.h"
#include "daemon/model/session.h"

namespace rdmaqos {

// Takes the outcomes of a report; the numbers of those that are elsewhere than before, or whose error is another.
[[nodiscard]] std::vector<std::uint32_t> take_outcomes(DeviceFacts& facts, const Report& report);

// Members that were there, and that the device does not know any longer: their owners destroyed them, and did not say
// so.
[[nodiscard]] std::vector<std::pair<SessionId, std::uint32_t>> find_vanished(const DeviceFacts& facts,
                                                                             const Report& report);

}    // namespace rdmaqos
