// What tells the daemon to do something. `device` empty: all.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

[[nodiscard]] Result<ExitStatus> reload(const Context& context);
[[nodiscard]] Result<ExitStatus> reconcile(const Context& context, const std::string& device);
[[nodiscard]] Result<ExitStatus> verify(const Context& context, const std::string& device);
[[nodiscard]] Result<ExitStatus> disable(const Context& context, const std::string& device);
[[nodiscard]] Result<ExitStatus> enable(const Context& context, const std::string& device);
[[nodiscard]] Result<ExitStatus> release(const Context& context, const std::string& device);

}    // namespace rdmaqos::ctl
