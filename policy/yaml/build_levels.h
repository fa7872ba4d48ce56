// qos-levels.
#pragma once

#include "policy/yaml/build.h"

namespace rdmaqos::reader {

void read_levels(Build& build);

}    // namespace rdmaqos::reader
