// `rdma-qosctl check`.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

struct CheckOptions {
    std::vector<std::string> files;    // empty: the host's
    std::string devices_file;          // of simulated devices
    bool offline = false;
};
[[nodiscard]] Result<ExitStatus> check(const Context& context, const CheckOptions& options);

}    // namespace rdmaqos::ctl
