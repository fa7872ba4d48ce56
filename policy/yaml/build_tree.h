// scheduling-nodes, and what nodes and levels must agree on as siblings.
#pragma once

#include <string>

#include "policy/yaml/build.h"

namespace rdmaqos::reader {

void read_scheduling_nodes(Build& build);
// `strict` of a scheduling-node or of a level's schedule.
[[nodiscard]] bool read_strict(Build& build, const Mapping& mapping, const std::string& name, bool has_parent,
                               const RateSpec& rate);
// Once all levels are read.
void check_tree(Build& build);

}    // namespace rdmaqos::reader
