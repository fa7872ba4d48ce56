// What check, reload and plan report, from the daemon's answers or from what was computed here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/base/error.h"
#include "lib/bus/value.h"
#include "lib/tree/compile.h"
#include "policy/model/verdict.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

[[nodiscard]] Diagnostics to_diagnostics(const std::vector<api::Diagnostic>& records);
[[nodiscard]] ReloadView to_reload(api::Reload reload);
// The answer of Plan, without a note.
[[nodiscard]] PlanReport to_plan_report(api::Plan plan);

[[nodiscard]] api::Finding to_record(const JudgedFinding& judged);    // without its device
[[nodiscard]] api::LeftOut to_record(const LeftOutDevice& device);
// It is a reason why the policy is refused.
[[nodiscard]] bool refuses(const api::Finding& finding);
// What stands behind its message; empty: nothing.
[[nodiscard]] std::string remark_on(const api::Finding& finding);
// One line each, by the same words in every report and in the log of rdma-qosd, without the end of the line.
[[nodiscard]] std::string finding_line(std::string_view device, const api::Finding& finding);
// Of a plan that no device has a part in: why not, a sentence.
[[nodiscard]] std::string nothing_planned(const std::vector<api::LeftOut>& left_out,
                                          const std::vector<api::RefusedDevice>& refused);
[[nodiscard]] std::string left_out_line(const api::LeftOut& device);

// What to do about a policy that a device keeps out.
inline constexpr const char* kAgainstUnlikeDevices = "change the policy, leave that device out of the level "
                                                     "(`devices:`), or set `on-unsupported: degrade` in rdma-qosd.yaml";

// What devices refused of a policy that is in force, and which have not answered, a line each.
[[nodiscard]] std::string failures_text(const ReloadView& reload);
// What devices and their ports refuse just now of what is in force, in the keys of a reload.
[[nodiscard]] std::vector<api::Failure> open_failures(const std::vector<DeviceView>& devices);
// What ends the sentence that it is in force; empty: it is, on each device.
[[nodiscard]] std::string_view but_not_on_devices(const ReloadView& reload);
// It was refused for the daemon's settings, and for nothing in the policy.
[[nodiscard]] bool is_of_settings(const ReloadView& reload);
// The last one is that of the start: nobody has asked for a reload since.
[[nodiscard]] bool is_of_start(const ManagerView& manager);
// What was refused, if the last reload was not accepted, which may have been the reading of the files at the start:
// "the last reload was refused".
[[nodiscard]] std::string_view refusal_in_words(const ManagerView& manager);
// Of a command that has put a policy in force: Failed if not all of it is on the devices.
[[nodiscard]] ExitStatus status_of(const ReloadView& reload);
// Diagnostics, findings, failures, what takes no part and what has not answered, each with its lines. Empty: there is
// nothing to say.
[[nodiscard]] std::string to_text(const ReloadView& reload, Colour colour);

}    // namespace rdmaqos::ctl
