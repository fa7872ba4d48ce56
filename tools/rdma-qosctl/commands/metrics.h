// `rdma-qosctl metrics`.
#pragma once

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

[[nodiscard]] Result<ExitStatus> metrics(const Context& context);

}    // namespace rdmaqos::ctl
