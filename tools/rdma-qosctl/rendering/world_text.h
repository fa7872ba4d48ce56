// The daemon's answers as text; as JSON: world_json.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/bus/value.h"
#include "tools/rdma-qosctl/output/context.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/hardware_report.h"
#include "tools/rdma-qosctl/world/host.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_status(const World& world, const std::vector<Problem>& problems, const Screen& screen);

[[nodiscard]] std::string render_levels(const std::vector<api::Level>& levels, const Screen& screen);

// Who has registered, and what they were granted. `most`: so many of them, and so many queue pairs; 0: all.
[[nodiscard]] std::string render_sessions(const std::vector<SessionView>& sessions, std::size_t most,
                                          const Screen& screen);
[[nodiscard]] std::string render_grant(const std::string& session, const api::Grant& grant, const Screen& screen);
// "alice", or "1000" if the uid has no name
[[nodiscard]] std::string owner_text(const std::string& user, std::uint64_t uid);

// The queue pairs of the whole host.
[[nodiscard]] std::string render_host_queue_pairs(const std::vector<api::HostQueuePair>& queue_pairs,
                                                  const Screen& screen);

// "12 queue pairs in a leaf; 40 in none (38 unregistered, 2 not-attached); 6 of the kernel"
[[nodiscard]] std::string describe_host(const HostSummary& summary);

// What has become of devices that were told to do something.
[[nodiscard]] std::string render_reconciled(const std::vector<api::DeviceResult>& results, const Screen& screen);
// `done`: what has become of each device, "disabled".
[[nodiscard]] std::string render_switched(const std::vector<api::DeviceResult>& results, std::string_view done,
                                          const Screen& screen);
[[nodiscard]] std::string render_drift(const std::vector<api::Drift>& drifts, const Screen& screen);

[[nodiscard]] std::string render_hardware_report(const HardwareReport& report, const Screen& screen);

}    // namespace rdmaqos::ctl
