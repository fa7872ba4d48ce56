// Methods of the daemon's devices: of one, or, without a name, of all. Where polkit wants a password, it is asked for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/bus/value.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

// What each device answers.
[[nodiscard]] Result<std::vector<bus::Dict>> call_on_devices(const Context& context, const std::string& method,
                                                             const std::string& device);
// Failed if an operation failed on one of them.
[[nodiscard]] ExitStatus status_of(const std::vector<bus::Dict>& results);

// Calls a method that changes the state of devices, and prints the result. `done`: what has become of a device,
// "disabled".
[[nodiscard]] Result<ExitStatus> switch_devices(const Context& context, const std::string& method,
                                                const std::string& device, std::string_view done);

}    // namespace rdmaqos::ctl
