// What the model NIC can do unless its description says otherwise.
#pragma once

#include "lib/tree/capabilities.h"

namespace rdmaqos {

// A ConnectX-6 Dx as its published capability dump and its packet pacing table show it: 256 leaves, 4 levels, shares
// to 100, 8192 elements; pacing of raw packet queue pairs only, 127 entries, range not stated. The link is not a
// capability: DeviceInfo::link_speed.
[[nodiscard]] Capabilities default_capabilities();

}    // namespace rdmaqos
