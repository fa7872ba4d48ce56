// Which files make up the policy of a host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "lib/base/error.h"

namespace rdmaqos {

// The files read_host_policy would read, in order: path below the host's root as the user knows it.
[[nodiscard]] std::vector<std::filesystem::path> host_policy_files(const std::filesystem::path& root);

// Files in the same directories that are not read.
enum class WhySkipped : std::uint8_t {
    Masked,       // by the file of the same name in /etc
    Disabled,     // a link to /dev/null
    OtherName,    // not *.yaml in policy.d
};
struct SkippedFile {
    std::filesystem::path path;
    WhySkipped why = WhySkipped::Masked;
    std::filesystem::path masked_by;
};
[[nodiscard]] std::vector<SkippedFile> skipped_policy_files(const std::filesystem::path& root);

namespace reader {

struct HostFiles {
    std::vector<std::filesystem::path> paths;    // in the order of merging, without the root's prefix
    std::vector<std::pair<std::filesystem::path, Error>> unreadable;    // directories
    std::vector<SkippedFile> skipped;
};

[[nodiscard]] HostFiles find_host_files(const std::filesystem::path& root);

}    // namespace reader
}    // namespace rdmaqos
