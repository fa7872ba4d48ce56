// The daemon's answers as JSON.
#pragma once

#include <vector>

#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/world/busy_rates.h"
#include "tools/rdma-qosctl/world/hardware_report.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

[[nodiscard]] Json status_json(const World& world, const std::vector<Problem>& problems);
[[nodiscard]] Json device_json(const DeviceView& device);
// `absent`: has those that are not managed; null: without them.
[[nodiscard]] Json devices_json(const std::vector<const DeviceView*>& devices, const ManagerView* absent = nullptr,
                                const std::vector<api::Level>& levels = {});
[[nodiscard]] Json hardware_report_json(const HardwareReport& report);
[[nodiscard]] Json reload_json(const ReloadView& reload);
[[nodiscard]] Json unchecked_json(const std::vector<port_lint::Unchecked>& unchecked);
[[nodiscard]] Json session_json(const SessionView& session);
[[nodiscard]] Json sessions_json(const std::vector<SessionView>& sessions);
// One entry for each device; `busy` is empty or parallel to `devices`.
[[nodiscard]] Json trees_json(const std::vector<const DeviceView*>& devices, const std::vector<BusyRates>& busy);

}    // namespace rdmaqos::ctl
