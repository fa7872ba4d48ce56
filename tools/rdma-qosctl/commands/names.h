// For the completion of shells: what the daemon knows by name.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

// One line for each: the name, a tab, and what it is in a few words. `kind` is "levels", "devices" or "sessions" (their processes).
// Asks the direct socket alone: a question to the system bus would start a daemon that does not run. Without a daemon there are no
// lines, and that is no error.
[[nodiscard]] Result<ExitStatus> names(const Context& context, const std::string& kind);

}    // namespace rdmaqos::ctl
