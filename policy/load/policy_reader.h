// Text to a policy: YAML or OpenSM's native file, one file or those of a host. All mistakes of all files are reported
// together; a value comes out only when there was no error.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "policy/load/host_files.h"
#include "policy/model/fabric.h"
#include "policy/model/name_service.h"
#include "policy/model/policy.h"
#include "policy/text/read_result.h"

namespace rdmaqos {

using SourceFiles = std::vector<std::shared_ptr<const SourceFile>>;

// Whether a file is OpenSM's native one, by its name: *.conf.
[[nodiscard]] bool is_opensm_file(std::string_view name);

// One text, or several merged in this order (a later file wins per key of named objects; rules and ulps are
// concatenated). One text alone may be OpenSM's native file, which is read in OpensmMode::Default; `fabric` is what is
// known for its warnings.
[[nodiscard]] ReadResult<Policy> read_policy(std::vector<std::shared_ptr<const SourceFile>> sources,
                                             const NameService& names, const Fabric& fabric = {});

// The policy of a host: policy.yaml (sorted as 50-policy.yaml) and policy.d/*.yaml of /usr/lib/rdma-qos, /run/rdma-qos
// and /etc/rdma-qos below `root`; a file in a later directory masks one of the same name in an earlier, a link to
// /dev/null disables it. policy.conf, OpenSM's native file, replaces policy.yaml; both in one directory, or policy.conf
// together with files of policy.d, are an error. No file at all is an error that says where one is expected.
[[nodiscard]] ReadResult<Policy> read_host_policy(const std::filesystem::path& root, const NameService& names,
                                                  const Fabric& fabric = {});
// The same with one file more, or another text in the place of one. If its place is masked, nothing of it is read, and
// it is not among the policy's sources.
[[nodiscard]] ReadResult<Policy> read_host_policy(const std::filesystem::path& root, const ProposedFile& proposed,
                                                  const NameService& names, const Fabric& fabric = {});

// The policy in force with the files of kTransientDirectory as they are now. The other files keep the text with which
// they are in force (`running`), whatever stands on the disk by now: an unfinished edit of somebody else takes no
// effect, and refuses nothing.
[[nodiscard]] ReadResult<Policy> read_running_policy(const std::filesystem::path& root, const SourceFiles& running,
                                                     const NameService& names, const Fabric& fabric = {});
[[nodiscard]] ReadResult<Policy> read_running_policy(const std::filesystem::path& root, const SourceFiles& running,
                                                     const ProposedFile& proposed, const NameService& names,
                                                     const Fabric& fabric = {});

// One file given on a command line, or one descriptor somebody passed. Cannot be read: a diagnostic.
[[nodiscard]] ReadResult<Policy> read_policy_file(const std::filesystem::path& path, const NameService& names,
                                                  const Fabric& fabric = {});
[[nodiscard]] ReadResult<Policy> read_policy_fd(int fd, const std::string& name, const NameService& names,
                                                const Fabric& fabric = {});

}    // namespace rdmaqos
