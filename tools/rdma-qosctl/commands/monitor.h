// `rdma-qosctl monitor`: signals of the daemon, as they come.
#pragma once

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

[[nodiscard]] Result<ExitStatus> monitor(const Context& context);

}    // namespace rdmaqos::ctl
