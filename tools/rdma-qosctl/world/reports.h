// What check, reload and plan report, from the daemon's answers or from what was computed here.
#pragma once

#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/bus/value.h"
#include "lib/tree/compile.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

[[nodiscard]] Diagnostics to_diagnostics(const std::vector<bus::Dict>& dicts);
[[nodiscard]] ReloadView to_reload(const bus::Dict& dict);
// The answer of Plan, without a note.
[[nodiscard]] PlanReport to_plan_report(const bus::Dict& dict);

// In the keys of docs/dbus.md, "Findings".
[[nodiscard]] bus::Dict to_dict(const Finding& finding);

// Diagnostics, findings and what has not answered, each with its lines. Empty: there is nothing to say.
[[nodiscard]] std::string to_text(const ReloadView& reload, Colour colour);

}    // namespace rdmaqos::ctl
