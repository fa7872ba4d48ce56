// Values to JSON, shapes in docs/rdma-qosctl-json.md: stable, keys in kebab-case, rates in kbit/s, GUIDs as text,
// what does not apply is absent, the outermost value is an object.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/base/diagnostic.h"
#include "lib/base/error.h"
#include "lib/bus/client.h"
#include "lib/tree/compile.h"
#include "tools/rdma-qosctl/rendering/sessions.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

using Json = nlohmann::ordered_json;

struct BroadcastReport;
struct HardwareReport;
struct SimulationReport;

// Indented, with a line feed; broken UTF-8 is replaced.
[[nodiscard]] std::string to_text(const Json& json);
// On one line, with a line feed.
[[nodiscard]] std::string to_line(const Json& json);

[[nodiscard]] Json to_json(const bus::Dict& dict);
[[nodiscard]] Json to_json(const std::vector<bus::Dict>& dicts);
[[nodiscard]] Json to_json(const bus::Counts& counts);
[[nodiscard]] Json to_json(const Diagnostics& diagnostics);
[[nodiscard]] Json to_json(const Finding& finding);
[[nodiscard]] Json error_json(const Error& error);

[[nodiscard]] Json status_json(const World& world, const std::vector<Problem>& problems);
[[nodiscard]] Json devices_json(const std::vector<const DeviceView*>& devices);
[[nodiscard]] Json hardware_report_json(const HardwareReport& report);
[[nodiscard]] Json sessions_json(const std::vector<SessionView>& sessions);
// One entry for each device; `busy` is empty or parallel to `devices`.
[[nodiscard]] Json trees_json(const std::vector<const DeviceView*>& devices, const std::vector<BusyRates>& busy);
[[nodiscard]] Json plans_json(const PlanReport& report);
[[nodiscard]] Json session_json(const SessionView& session);
[[nodiscard]] Json why_json(const WhyReport& report);    // json_why.cpp
[[nodiscard]] Json simulation_json(const SimulationReport& report);    // simulate_json.cpp
[[nodiscard]] Json broadcast_json(const BroadcastReport& report);
[[nodiscard]] Json signal_json(const bus::Signal& signal, const std::string& time);

}    // namespace rdmaqos::ctl
