// A text that a verb makes out of other files: to stdout or a file, and what there is to say of it to stderr.
#pragma once

#include <string>

#include "lib/base/diagnostic.h"
#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

// `text` null: there is none, for the errors among the diagnostics, and the status is BadPolicy. `file` empty: stdout.
[[nodiscard]] Result<ExitStatus> deliver(const Context& context, const std::string* text,
                                         const Diagnostics& diagnostics, const std::string& file);

}    // namespace rdmaqos::ctl
