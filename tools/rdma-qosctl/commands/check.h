// `rdma-qosctl check`.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

struct CheckOptions {
    PolicyFiles policy;
    std::string devices_file;          // of simulated devices
    bool offline = false;
};
[[nodiscard]] Result<ExitStatus> check(const Context& context, const CheckOptions& options);

}    // namespace rdmaqos::ctl
