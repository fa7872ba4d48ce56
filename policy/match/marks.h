// What a level marks packets with, and the devices that cannot send it.
#pragma once

#include <span>

#include "lib/base/diagnostic.h"
#include "policy/model/device_selector.h"
#include "policy/model/policy.h"

namespace rdmaqos {

// Warnings: an SL above 7 on Ethernet, which has 8 priorities, and a traffic class where all devices of the level are
// on InfiniBand, which has none. Of a device whose link layer is not known nothing is said.
[[nodiscard]] Diagnostics warnings_of_marks(const Policy& policy, std::span<const DeviceNames> devices);

}    // namespace rdmaqos
