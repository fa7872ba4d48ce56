// The fabrics of OpenSM's compatibility cases as text, one port a line:
//
//     @sm GUID
//     @partition NAME PKEY [SL]
//     GUID CA|SWITCH|ROUTER "DESCRIPTION" PORT PKEY,...|- [node=GUID] [nports=N]      # comment
//
// Partitions are those of the ports' P_Keys; `@partition` only names them. CA and router ports with one description and
// no `node=` are of one node. The ports of a switch share the GUID of its port 0; `nports` says how many it has.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "policy/model/fabric.h"

namespace rdmaqos::ctl {

// Error InvalidArgument with the line that is wrong.
[[nodiscard]] Result<Fabric> parse_topology(const std::string& text);
[[nodiscard]] Result<Fabric> read_topology(const std::string& file);

}    // namespace rdmaqos::ctl
