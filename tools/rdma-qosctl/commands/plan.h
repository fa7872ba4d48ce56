// `rdma-qosctl plan`.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

struct PlanOptions {
    PolicyFiles policy;
    std::string devices_file;    // of simulated devices
    bool offline = false;
    bool verbose = false;    // every queue pair and session
};
[[nodiscard]] Result<ExitStatus> plan(const Context& context, const PlanOptions& options);

}    // namespace rdmaqos::ctl
