// qos-ulps: OpenSM's simplified rules, translated as OpenSM does.
#pragma once

#include "policy/yaml/build.h"

namespace rdmaqos::reader {

// Before the match rules: these may name the groups it makes.
void read_ulps(Build& build);
// Unless a file that may define it could not be read.
void report_no_default(Build& build);

}    // namespace rdmaqos::reader
