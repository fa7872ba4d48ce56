// qos-match-rules.
#pragma once

#include "policy/yaml/build.h"

namespace rdmaqos::reader {

void read_match_rules(Build& build);

}    // namespace rdmaqos::reader
