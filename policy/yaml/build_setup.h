// qos-setup: checked as OpenSM checks it, then without effect: VL arbitration and SL to VL tables are the subnet
// manager's.
#pragma once

#include "policy/yaml/build.h"

namespace rdmaqos::reader {

void read_setups(Build& build);

}    // namespace rdmaqos::reader
