// Text to values: every file rdma-qosd reads. All mistakes of all files are reported together; a value comes out only
// when there was no error.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/base/result.h"
#include "lib/tree/capabilities.h"
#include "policy/model/fabric.h"
#include "policy/model/policy.h"
#include "policy/model/settings.h"
#include "policy/model/simulation.h"

namespace rdmaqos {

// Looks up a user or group by name. The default asks the host; tests bring their own.
struct NameService {
    std::function<std::optional<std::uint32_t>(const std::string&)> uid_of;
    std::function<std::optional<std::uint32_t>(const std::string&)> gid_of;

    static NameService host();
};

template <typename T>
struct ReadResult {
    std::shared_ptr<const T> value;    // null if there were errors
    Diagnostics diagnostics;           // may hold warnings even when there is a value
};

// Whether a file is OpenSM's native one, by its name: *.conf.
[[nodiscard]] bool is_opensm_file(std::string_view name);

// One text, or several merged in this order (a later file wins per key of named objects; rules and ulps are
// concatenated). One text alone may be OpenSM's native file, which is read in OpensmMode::Default; `fabric` is what is
// known for its warnings.
[[nodiscard]] ReadResult<Policy> read_policy(std::vector<std::shared_ptr<const SourceFile>> sources,
                                             const NameService& names, const Fabric& fabric = {});

// The policy of a host: policy.yaml (sorted as 50-policy.yaml) and policy.d/*.yaml of /usr/lib/rdma-qos and
// /etc/rdma-qos below `root`; a file in /etc masks one of the same name in /usr/lib, a link to /dev/null disables it.
// policy.conf, OpenSM's native file, takes the place of policy.yaml; both in one directory, or one beside files of
// policy.d, is an error. No file at all is an error that says where one is expected.
[[nodiscard]] ReadResult<Policy> read_host_policy(const std::filesystem::path& root, const NameService& names,
                                                  const Fabric& fabric = {});

// The files read_host_policy would read, in order: path below the host's root as the user knows it.
[[nodiscard]] std::vector<std::filesystem::path> host_policy_files(const std::filesystem::path& root);

// What lies beside these files and is not read.
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

// One file given on a command line, or one descriptor somebody passed. Cannot be read: a diagnostic.
[[nodiscard]] ReadResult<Policy> read_policy_file(const std::filesystem::path& path, const NameService& names,
                                                  const Fabric& fabric = {});
[[nodiscard]] ReadResult<Policy> read_policy_fd(int fd, const std::string& name, const NameService& names,
                                                const Fabric& fabric = {});

// A missing fabric or settings file is not an error: the value is the default.
[[nodiscard]] ReadResult<Fabric> read_fabric(const std::filesystem::path& path);
[[nodiscard]] ReadResult<Settings> read_settings(const std::filesystem::path& path);

// `default_capabilities` is the profile for what a device does not state.
[[nodiscard]] ReadResult<std::vector<SimulatedDevice>> read_simulation(const std::filesystem::path& path,
                                                                       const Capabilities& default_capabilities);

// Texts instead of files, for tests and fuzzers.
[[nodiscard]] ReadResult<Fabric> read_fabric(std::shared_ptr<const SourceFile> source);
[[nodiscard]] ReadResult<Settings> read_settings(std::shared_ptr<const SourceFile> source);
[[nodiscard]] ReadResult<std::vector<SimulatedDevice>> read_simulation(std::shared_ptr<const SourceFile> source,
                                                                       const Capabilities& default_capabilities);

}    // namespace rdmaqos
