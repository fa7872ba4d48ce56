// `rdma-qosctl import-opensm --topology`: on the fabric of one of OpenSM's compatibility cases.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/commands/import.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

[[nodiscard]] Result<ExitStatus> import_opensm_case(const Context& context, const ImportOpensmOptions& options,
                                                    const std::string& topology);

}    // namespace rdmaqos::ctl
