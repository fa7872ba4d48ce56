// From what a reload, a plan or the management of a device gave to the records of lib/api; write() of convert_out.h
// writes them.
#pragma once

#include <optional>
#include <vector>

#include "daemon/bus/convert_out.h"
#include "daemon/model/device_status.h"
#include "daemon/model/reload.h"
#include "daemon/model/state_failure.h"
#include "daemon/model/trial.h"
#include "lib/base/diagnostic.h"
#include "lib/bus/message.h"

namespace rdmaqos {

[[nodiscard]] api::Diagnostic to_record(const Diagnostic& diagnostic, Quote quote);
[[nodiscard]] std::vector<api::Diagnostic> to_record(const Diagnostics& diagnostics, Quote quote);
[[nodiscard]] api::LevelChange to_record(const LevelChange& change);
[[nodiscard]] api::PartChange to_record(const PartChange& change);
[[nodiscard]] api::SessionChange to_record(const SessionChange& change);
[[nodiscard]] api::LevelLoss to_record(const LevelLoss& loss);
[[nodiscard]] api::LeftOut to_record(const LeftOutDevice& device);
[[nodiscard]] api::DevicePlan to_record(const DevicePlan& plan);
// `device`: empty where it is known anyway.
[[nodiscard]] api::Failure to_record(const ElementFailure& failure, const std::string& device = {});
[[nodiscard]] api::Failure to_record(const DeviceFailure& failure);
[[nodiscard]] api::Reload to_record(const ReloadOutcome& outcome, Quote quote);
[[nodiscard]] api::Reload to_record(const TrialOutcome& outcome, Quote quote);
[[nodiscard]] api::Plan to_record(const PlanReport& report, Quote quote);
[[nodiscard]] api::Trial to_record(const std::optional<TrialStatus>& trial);
[[nodiscard]] api::RefusedDevice to_record(const RefusedDevice& device);
[[nodiscard]] std::vector<api::StateFailure> to_record(const std::map<std::string, StateFailure>& state_failures);
[[nodiscard]] api::DeviceResult to_record(const DeviceReconcile& result);
[[nodiscard]] std::vector<api::Drift> to_record(const std::vector<DeviceDrift>& results);

// Of a device: aa{sv}
void write_findings(bus::Writer& writer, const DeviceStatus& status);
void write_failures(bus::Writer& writer, const DeviceStatus& status);

}    // namespace rdmaqos
