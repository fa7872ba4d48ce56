// The last policy that was accepted, kept below /var/lib/rdma-qos: a host whose policy file is broken at boot comes up
// with what it enforced before, and says so.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/base/result.h"

namespace rdmaqos {

using Sources = std::vector<std::shared_ptr<const SourceFile>>;

inline constexpr const char* kLastGoodFile = "/var/lib/rdma-qos/last-good-policy.json";

[[nodiscard]] Result<void> save_last_good(const std::filesystem::path& root, const Sources& sources);
// Empty if there is none.
[[nodiscard]] Result<Sources> load_last_good(const std::filesystem::path& root);

}    // namespace rdmaqos
