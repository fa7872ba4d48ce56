// Calls that change something in the daemon. Where polkit wants a password, it is asked for.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "lib/api/report.h"
#include "lib/base/result.h"
#include "lib/bus/client.h"
#include "lib/bus/value.h"
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

// What a reload did: its warnings, and which policy is running.
void print_reload(const Context& context, const ReloadView& reload);

// The trial that is in force; an error if there is none.
[[nodiscard]] Result<api::Trial> fetch_trial(bus::Client& client);

// What a method of a device answers; without a name, that of each device. Record: DeviceResult or Drift.
template <typename Record>
[[nodiscard]] Result<std::vector<Record>> call_on_devices(const Context& context, const std::string& method,
                                                          const std::string& device);
// Failed if an operation failed on one of them.
[[nodiscard]] ExitStatus status_of(const std::vector<api::DeviceResult>& results);

// Calls a method that changes the state of devices, and prints the result. `done`: what has become of a device,
// "disabled".
[[nodiscard]] Result<ExitStatus> switch_devices(const Context& context, const std::string& method,
                                                const std::string& device, std::string_view done);

}    // namespace rdmaqos::ctl
