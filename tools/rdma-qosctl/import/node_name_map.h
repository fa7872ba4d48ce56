// node-name-map: names for nodes that say more than what they call themselves. A line each, by the GUID of the node:
//
//     0x0002c90200400d98  "leaf 1"    # comment
//
// As libibnetdisc and OpenSM read it (rdma-core's util/node_name_map.c, OpenSM's complib/cl_nodenamemap.c): the quotes
// may be missing, the name ends at the next quote or '#', a line has at most 255 bytes, and a line that does not start
// with a number makes the whole file worthless.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "policy/text/read_result.h"

namespace rdmaqos {

using NodeNameMap = std::map<std::uint64_t, std::string>;    // by the GUID of the node; UTF-8, not empty

// A GUID that is named again keeps its first name; what no file of this project could say is left out. With a warning.
[[nodiscard]] ReadResult<NodeNameMap> read_node_name_map(std::shared_ptr<const SourceFile> source);

}    // namespace rdmaqos
