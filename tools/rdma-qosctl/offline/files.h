// Files that a command reads itself: named by options, or those of the host below a root.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/base/result.h"
#include "policy/model/fabric.h"
#include "policy/model/policy.h"
#include "policy/model/settings.h"
#include "policy/text/read_result.h"

namespace CLI {
class App;
class Validator;
}    // namespace CLI

namespace rdmaqos::ctl {

// What a trial stands for.
inline constexpr const char* kMainPolicyFile = "/etc/rdma-qos/policy.yaml";

// For a positional policy: `level=rpc` is an option without its dashes, not a file. `advice` ends what is said of it.
[[nodiscard]] CLI::Validator policy_file(const std::string& advice = {});

// "-": stdin.
[[nodiscard]] Result<std::shared_ptr<const SourceFile>> read_source(const std::string& file);
// The same; null if it cannot be read, which is then among the diagnostics.
[[nodiscard]] std::shared_ptr<const SourceFile> load_source(const std::string& file, Diagnostics& diagnostics);
// A policy on the command line: files in this order ("-": stdin), or none: those of the host; or the host's with one
// file in the place `as` (place_of(); empty: no such place).
struct PolicyFiles {
    std::vector<std::string> files;
    std::string as;

    [[nodiscard]] bool of_host() const { return files.empty() || !as.empty(); }
};
void add_policy_files(CLI::App& command, PolicyFiles& policy);
// Whether this can be meant: one file for a place where a policy is looked for.
[[nodiscard]] Result<void> is_valid(const PolicyFiles& files);
[[nodiscard]] ReadResult<Policy> load_given_policy(const PolicyFiles& files, const std::string& root);
// The files in this order ("-": stdin); none: those of the host below `root`. Without a fabric: that of the host.
[[nodiscard]] ReadResult<Policy> load_policy(const std::vector<std::string>& files, const std::string& root);
[[nodiscard]] ReadResult<Policy> load_policy(const std::vector<std::string>& files, const std::string& root,
                                             const Fabric& fabric);
// The same for commands to which a broken policy is an error: InvalidPolicy with the diagnostics.
[[nodiscard]] Result<std::shared_ptr<const Policy>> require_policy(const std::vector<std::string>& files,
                                                                   const std::string& root);
[[nodiscard]] ReadResult<Settings> load_settings(const std::string& root);
[[nodiscard]] ReadResult<Fabric> load_fabric(const std::string& root);
// Of this file; empty: of the host. InvalidPolicy with the diagnostics of a broken one.
[[nodiscard]] Result<Fabric> require_fabric(const std::string& file, const std::string& root);

// `what`, a file, is refused for what these say.
[[nodiscard]] Error invalid_policy(const Diagnostics& diagnostics, std::string_view what);

}    // namespace rdmaqos::ctl
