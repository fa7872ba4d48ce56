// From what a reload, a plan or the management of a device gave to the records of lib/api, written into the message.
#pragma once

#include <optional>
#include <vector>

#include "daemon/model/device_status.h"
#include "daemon/model/reload.h"
#include "daemon/model/trial.h"
#include "lib/base/diagnostic.h"
#include "lib/bus/message.h"

namespace rdmaqos {

// aa{sv}
void write(bus::Writer& writer, const Diagnostics& diagnostics, Quote quote);
void write(bus::Writer& writer, const ReloadOutcome& outcome, Quote quote);
void write(bus::Writer& writer, const TrialOutcome& outcome, Quote quote);
void write(bus::Writer& writer, const PlanReport& report, Quote quote);
// a{sv}, without an entry if there is none
void write(bus::Writer& writer, const std::optional<TrialStatus>& trial);

void write(bus::Writer& writer, const std::vector<RefusedDevice>& devices);
void write(bus::Writer& writer, const std::map<std::string, std::string>& state_failures);
void write(bus::Writer& writer, const DeviceReconcile& result);
void write(bus::Writer& writer, const std::vector<DeviceReconcile>& results);
void write(bus::Writer& writer, const std::vector<DeviceDrift>& results);

// Of a device: aa{sv}
void write_findings(bus::Writer& writer, const DeviceStatus& status);
void write_failures(bus::Writer& writer, const DeviceStatus& status);

}    // namespace rdmaqos
