// Which policy the daemon has in force: it reads its files again, or tries another one.
#pragma once

#include <chrono>

#include "lib/base/result.h"
#include "lib/bus/client.h"
#include "tools/rdma-qosctl/output/context.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// A device with thousands of elements to make, on slow firmware.
inline constexpr auto kDeviceTimeout = std::chrono::minutes(5);

// Has the daemon read all files again, after the password that polkit may want. InvalidPolicy with all that is wrong;
// `brief`: which is left to the daemon's log.
[[nodiscard]] Result<ReloadView> reload_files(const Context& context, bus::Client& client, bool brief = false);
// The same, but a trial that is in force goes on: for those who changed other files than the one that is tried.
[[nodiscard]] Result<ReloadView> refresh_files(const Context& context, bus::Client& client);

// The trial that is in force; an error if there is none.
[[nodiscard]] Result<TrialView> fetch_trial(bus::Client& client);

}    // namespace rdmaqos::ctl
