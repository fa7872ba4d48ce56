// `rdma-qosctl override`: another rate for a level, for a while.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/offline/level_override.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

[[nodiscard]] Result<ExitStatus> set_override(const Context& context, const OverrideOptions& options);

struct OverrideClearing {
    std::string level;    // empty: all, which must be said
    bool all = false;
};
[[nodiscard]] Result<ExitStatus> clear_overrides(const Context& context, const OverrideClearing& clearing);

[[nodiscard]] Result<ExitStatus> list_overrides(const Context& context);

}    // namespace rdmaqos::ctl
