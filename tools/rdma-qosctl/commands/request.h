// `rdma-qosctl request`: holds a session while a command runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"
#include "tools/rdma-qosctl/request/request_options.h"

namespace rdmaqos::ctl {

struct HoldOptions {
    RequestOptions request;
    std::vector<std::string> devices;        // of --qps; empty: the first the daemon has
    std::uint32_t count = 0;                 // --qps
    std::vector<std::string> queue_pairs;    // --qp
    bool print = false;                      // the grant, before the command starts
    std::vector<std::string> command;        // empty: hold until a signal
};
// Returns the exit status of the command.
[[nodiscard]] Result<int> hold(const Context& context, const HoldOptions& options);

}    // namespace rdmaqos::ctl
