// Which files make up the policy of a host.
#pragma once

#include <filesystem>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "policy/load/policy_reader.h"

namespace rdmaqos::reader {

struct HostFiles {
    std::vector<std::filesystem::path> paths;    // in the order of merging, without the root's prefix
    std::vector<std::pair<std::filesystem::path, Error>> unreadable;    // directories
    std::vector<SkippedFile> skipped;
};

[[nodiscard]] HostFiles find_host_files(const std::filesystem::path& root);

}    // namespace rdmaqos::reader
