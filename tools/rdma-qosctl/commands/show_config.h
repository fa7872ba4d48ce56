// `rdma-qosctl show-config`.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

struct ShowConfigOptions {
    std::vector<std::string> files;    // empty: the host's
    bool offline = false;
};
[[nodiscard]] Result<ExitStatus> show_config(const Context& context, const ShowConfigOptions& options);

}    // namespace rdmaqos::ctl
