// port-groups, qos-class-names and partitions.
#pragma once

#include "policy/yaml/build.h"

namespace rdmaqos::reader {

void read_groups(Build& build);
void read_class_names(Build& build);
void read_partitions(Build& build);

}    // namespace rdmaqos::reader
