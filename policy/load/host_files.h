// Which files make up the policy of a host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/base/error.h"
#include "lib/base/result.h"

namespace rdmaqos {

// The files read_host_policy would read, in order: path below the host's root as the user knows it.
[[nodiscard]] std::vector<std::filesystem::path> host_policy_files(const std::filesystem::path& root);

// Files in the same directories that are not read.
enum class WhySkipped : std::uint8_t {
    Masked,       // by the file of the same name in /run or /etc
    Disabled,     // a link to /dev/null
    OtherName,    // not *.yaml in policy.d
    Ended,        // its time has passed or its cgroup is gone: `transient`
};
// "masked", "other-name"
[[nodiscard]] std::string_view to_string(WhySkipped why);
struct SkippedFile {
    std::filesystem::path path;
    WhySkipped why = WhySkipped::Masked;
    std::filesystem::path masked_by;
    std::string ended = {};    // "its time has passed (...)"
};
[[nodiscard]] std::vector<SkippedFile> skipped_policy_files(const std::filesystem::path& root);
// A file of another name that was probably meant to be read: *.yml, *.YAML, *.conf.
[[nodiscard]] bool looks_like_policy(const std::filesystem::path& path);

// A file that is tried in a place where it does not stand yet, or has another text.
struct ProposedFile {
    std::filesystem::path place;    // "/etc/rdma-qos/policy.d/60-new.yaml"
    std::shared_ptr<const SourceFile> source;
};
// The place that somebody means: "policy.d/60-new.yaml" is in /etc/rdma-qos; a whole path must be in one of the
// directories. An error where no policy file is looked for.
[[nodiscard]] Result<std::filesystem::path> place_of(std::string_view name);

namespace reader {

struct HostFiles {
    std::vector<std::filesystem::path> paths;    // in the order of merging, without the root's prefix
    std::vector<std::pair<std::filesystem::path, Error>> unreadable;    // directories
    std::vector<SkippedFile> skipped;
};

// `proposed`: a place that counts as there. Null: none. `running`: only what is in kTransientDirectory is looked for;
// elsewhere these files are the ones that are there, whatever has become of them. Null: all are looked for.
[[nodiscard]] HostFiles find_host_files(const std::filesystem::path& root,
                                        const std::filesystem::path* proposed = nullptr,
                                        const std::set<std::filesystem::path>* running = nullptr);

}    // namespace reader
}    // namespace rdmaqos
