// What the traffic classes of ports were set to before the daemon set them: kept below /var/lib/rdma-qos, so that a
// daemon that is started again goes on from there, and puts back what was there before when it lets go.
//
// The settings of a port do not survive the kernel, so neither does its record: one of an earlier boot is not used.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "daemon/port_classes/port_manager.h"
#include "daemon/service/device_switches.h"
#include "lib/base/result.h"

namespace rdmaqos {

// For reports.
inline constexpr const char* kPortRecordsFile = "/var/lib/rdma-qos/port-classes.json";

// By what a port is known: "0x0010000000000001/1"
[[nodiscard]] std::string port_id(const DeviceId& id);

[[nodiscard]] Result<void> save_port_records(const std::filesystem::path& root, const PortRecords& records);
// Empty if nothing was saved, or only of an earlier boot.
[[nodiscard]] Result<PortRecords> load_port_records(const std::filesystem::path& root);
// Of a file that cannot be used, as keep_aside() and kept_aside() (state_file.h).
[[nodiscard]] Result<std::string> keep_port_records_aside(const std::filesystem::path& root);
[[nodiscard]] std::vector<std::string> port_records_kept_aside(const std::filesystem::path& root);

}    // namespace rdmaqos
