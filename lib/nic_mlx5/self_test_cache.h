// Answers of the self-test on disk, one JSON file for each card, firmware and kernel.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lib/nic/backend.h"

namespace rdmaqos::mlx5 {

// What the answer depends on: "MT_0000000359 22.35.1012 6.1.0-25-amd64".
[[nodiscard]] std::string self_test_key(const DeviceInfo& port);

// Nothing when there is none for this key, or none that can be read. Busy: not at this time, for want of descriptors or
// memory.
[[nodiscard]] Result<std::optional<AttachReport>> load_self_test(const std::filesystem::path& folder,
                                                                 const std::string& key);
[[nodiscard]] Result<void> save_self_test(const std::filesystem::path& folder, const std::string& key,
                                          const AttachReport& report);

}    // namespace rdmaqos::mlx5
