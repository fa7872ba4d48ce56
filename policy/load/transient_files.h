// Policy files below /run/rdma-qos that expire, at a time or with a cgroup.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/base/file.h"
#include "lib/base/result.h"
#include "policy/model/transient.h"
#include "policy/yaml/level_overrides.h"

namespace rdmaqos {

inline constexpr const char* kTransientDirectory = "/run/rdma-qos/policy.d";

enum class WhyEnded : std::uint8_t {
    Time,      // `until` has passed
    Cgroup,    // its cgroup is gone
};
// Whether and why, at this time on the host below `root`. A cgroup counts as gone only where cgroup v2 is mounted.
[[nodiscard]] std::optional<WhyEnded> why_ended(const Transient& transient, const std::filesystem::path& root,
                                                std::chrono::system_clock::time_point now);
// "its time has passed (2026-11-23T22:00:00Z)", "the cgroup /system.slice/job.scope is gone"
[[nodiscard]] std::string to_string(WhyEnded why, const Transient& transient);
// Where the cgroup of this path is; empty: cgroup v2 is not mounted.
[[nodiscard]] std::filesystem::path cgroup_directory(const std::filesystem::path& root, const std::string& cgroup);

// A file of kTransientDirectory, with or without the key `transient`.
struct TransientFile {
    std::filesystem::path path;             // as the user knows it
    FileStamp stamp;                        // of what was read
    Transient transient;                    // empty: it stays until somebody removes it
    std::optional<WhyEnded> ended;          // when it was read
    reader::StatedOverrides overrides{};    // of levels
};
// By name. A file that cannot be read counts as one without the key.
[[nodiscard]] std::vector<TransientFile> find_transient_files(const std::filesystem::path& root,
                                                              std::chrono::system_clock::time_point now);

// For a policy that was kept elsewhere: whether this file of it would still be read. True for files that are not
// transient.
[[nodiscard]] bool is_still_there(const SourceFile& file, const std::filesystem::path& root,
                                  std::chrono::system_clock::time_point now);

// Held while kTransientDirectory is changed, so that concurrent additions are checked one after the other. It locks a
// file that only root can open, in a folder that is given to nobody: a directory could be locked by anybody who may
// read it, and a file below /run/rdma-qos by the root of a container that has this folder, even read-only.
class TransientLock {
public:
    // Waits for it. Makes the directories if they are not there.
    [[nodiscard]] static Result<TransientLock> wait(const std::filesystem::path& root);
    // Busy: somebody else has it.
    [[nodiscard]] static Result<TransientLock> try_now(const std::filesystem::path& root);

private:
    explicit TransientLock(UniqueFd fd) : fd_(std::move(fd)) {}
    [[nodiscard]] static Result<TransientLock> take(const std::filesystem::path& root, int operation);

    UniqueFd fd_;
};

}    // namespace rdmaqos
