// Who writes to the ports of the host for some time: programs that set a port again and again.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "lib/base/result.h"
#include "lib/port_lint/values.h"

namespace rdmaqos::ctl {

// Returns when the time is over. By interface; one to which nobody wrote is not in it. Of this network namespace.
[[nodiscard]] Result<std::map<std::string, port_lint::Rewrites>> watch_ports(std::chrono::seconds time);

}    // namespace rdmaqos::ctl
