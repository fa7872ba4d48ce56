// `rdma-qosctl why`: asks the daemon, reads the port counters twice, and leaves the thinking to world/why.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

struct WhyOptions {
    std::string target;                  // pid, unit or queue pair
    std::uint32_t interval_ms = 1000;    // between two readings of the port counters; 0: none
};
[[nodiscard]] Result<ExitStatus> why(const Context& context, const WhyOptions& options);

}    // namespace rdmaqos::ctl
