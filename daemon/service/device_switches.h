// Devices that the administrator has switched off. Those of `rdma-qosctl disable` are kept below /var/lib/rdma-qos:
// they stay off over a restart, and when they are unplugged and come back. Those of `rdma-qosctl release` are kept
// below /run/rdma-qos: they stay with their driver while it is worked on, and at the next boot that is over.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>

#include "lib/base/net.h"
#include "lib/base/result.h"
#include "lib/nic/backend.h"
#include "policy/model/request.h"

namespace rdmaqos {

// What a port is known by: names of devices can change.
struct DeviceId {
    Guid node_guid;
    std::uint32_t port = 1;

    friend auto operator<=>(const DeviceId&, const DeviceId&) = default;
};

[[nodiscard]] DeviceId id_of(const DeviceInfo& info);
// "mlx5_0/1"
[[nodiscard]] std::string key_of(const DeviceNames& names);
// "mlx5_0", "mlx5_0/1", netdev or PCI address
[[nodiscard]] bool has_name(const DeviceNames& names, const std::string& name);

// With the names they had when they were seen last, for people.
using SwitchedOff = std::map<DeviceId, DeviceNames>;

// For reports.
inline constexpr const char* kDisabledFile = "/var/lib/rdma-qos/disabled-devices.json";
inline constexpr const char* kReleasedFile = "/run/rdma-qos/released-devices.json";

[[nodiscard]] Result<void> save_disabled(const std::filesystem::path& root, const SwitchedOff& disabled);
[[nodiscard]] Result<void> save_released(const std::filesystem::path& root, const SwitchedOff& released);
// Empty if nothing was saved.
[[nodiscard]] Result<SwitchedOff> load_disabled(const std::filesystem::path& root);
[[nodiscard]] Result<SwitchedOff> load_released(const std::filesystem::path& root);

}    // namespace rdmaqos
