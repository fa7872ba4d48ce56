// What a subnet manager has set in a port of this host.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/result.h"
#include "lib/smp/lanes.h"

namespace rdmaqos::ctl {

// Asks the port itself ("mlx5_0", 1), which may take seconds; errors as smp::Umad::open and exchange have them. `root`:
// of the host's files; empty: "/".
[[nodiscard]] Result<smp::PortLanes> read_port_lanes(const std::string& root, const std::string& device,
                                                     std::uint32_t port);

}    // namespace rdmaqos::ctl
