// `rdma-qosctl try`, `confirm` and `revert`: a policy in force for a while, which goes back by itself.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

struct TrialOptions {
    std::string file;              // "-": stdin
    std::string timeout = "60";    // "90", "5min"
};
[[nodiscard]] Result<ExitStatus> try_policy(const Context& context, const TrialOptions& options);

// Writes what is tried to policy.yaml, and tells the daemon. `force`: also over what somebody else has written there
// since the trial began.
[[nodiscard]] Result<ExitStatus> confirm(const Context& context, bool force);

[[nodiscard]] Result<ExitStatus> revert(const Context& context);

}    // namespace rdmaqos::ctl
