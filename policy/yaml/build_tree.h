// scheduling-nodes, and what nodes and levels must agree on as siblings.
#pragma once

#include "policy/yaml/build.h"

namespace rdmaqos::reader {

void read_scheduling_nodes(Build& build);
// Once all levels are read.
void check_tree(Build& build);

}    // namespace rdmaqos::reader
