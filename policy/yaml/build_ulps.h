// qos-ulps: OpenSM's simplified rules, translated as OpenSM does, and the choice of the default level.
#pragma once

#include "policy/yaml/build.h"

namespace rdmaqos::reader {

// Before the match rules: these may name the groups it makes.
void read_ulps(Build& build);
void choose_default_level(Build& build);

}    // namespace rdmaqos::reader
