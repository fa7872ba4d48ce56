// Simulated devices: model NICs as a file describes them (rdma-qosd --simulate).
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "lib/base/clock.h"
#include "lib/nic/backend.h"

namespace rdmaqos {

// Error InvalidArgument: the diagnostics of the file. `clock` must outlive the devices.
[[nodiscard]] Result<std::vector<std::unique_ptr<Backend>>> simulated_devices(const std::filesystem::path& file,
                                                                              const Clock& clock);

// One of them, as it was at first: for a device that comes back. UnknownDevice: the file does not have it any longer.
[[nodiscard]] Result<std::unique_ptr<Backend>> simulated_device(const std::filesystem::path& file, const Clock& clock,
                                                                Guid node_guid, std::uint32_t port);

}    // namespace rdmaqos
