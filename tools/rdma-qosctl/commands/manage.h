// What tells the daemon to do something. `device` empty: all. Where polkit wants a password, it is asked for.
#pragma once

#include <chrono>
#include <string>

#include "lib/base/result.h"
#include "lib/bus/client.h"
#include "tools/rdma-qosctl/output/context.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// A device with thousands of elements to make, on slow firmware.
inline constexpr auto kDeviceTimeout = std::chrono::minutes(5);

// Has the daemon read all files again, after the password that polkit may want. InvalidPolicy with all that is wrong.
[[nodiscard]] Result<ReloadView> reload_files(const Context& context, bus::Client& client, bool brief = false);
// The same, but a trial that is in force goes on: for those who changed other files than the one that is tried.
[[nodiscard]] Result<ReloadView> refresh_files(const Context& context, bus::Client& client);

// `brief`: what is wrong with the files is left to the daemon's log, and success to the exit status.
[[nodiscard]] Result<ExitStatus> reload(const Context& context, bool brief);
[[nodiscard]] Result<ExitStatus> reconcile(const Context& context, const std::string& device);
[[nodiscard]] Result<ExitStatus> verify(const Context& context, const std::string& device);
// `all` must be said if no device is named.
[[nodiscard]] Result<ExitStatus> disable(const Context& context, const std::string& device, bool all);
[[nodiscard]] Result<ExitStatus> enable(const Context& context, const std::string& device);
[[nodiscard]] Result<ExitStatus> release(const Context& context, const std::string& device);

}    // namespace rdmaqos::ctl
