// What commands that add and remove files in /run/rdma-qos/policy.d have in common: `rule`, `override`.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/base/result.h"
#include "policy/load/policy_reader.h"
#include "policy/load/transient_files.h"
#include "policy/model/policy.h"
#include "tools/rdma-qosctl/output/context.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

inline constexpr std::string_view kOnlyRootChanges = "only root may add and remove rules and overrides";

// Of a change to files, which no grant of polkit's replaces. `who_may`: "only root may confirm a trial". Root itself is
// told what is wrong with the file.
[[nodiscard]] Error not_written(std::string_view who_may, const Error& error);

// Waits for others who change them; it is held until the daemon has taken the change or refused it.
[[nodiscard]] Result<TransientLock> lock_transient_files(const std::string& root);

// What a change is merged into.
struct Base {
    std::optional<SourceFiles>
        running;    // in force in a daemon; empty: none runs, or has a policy, and the host's files count

    // With the transient files as they are now. Null: it has errors.
    [[nodiscard]] std::shared_ptr<const Policy> policy(const std::string& root) const;
};
[[nodiscard]] Result<Base> base_of_change(const Context& context);

// The policy as it would be with this text in this place.
struct ProposedPolicy {
    std::shared_ptr<const Policy> policy;
    Diagnostics own;    // warnings about the text alone
};
// Refused if it is none: InvalidPolicy, with `what` as its subject. Prints the text's own warnings to stderr.
[[nodiscard]] Result<ProposedPolicy> check_with(const Context& context, const Base& base,
                                                const std::filesystem::path& place, const std::string& text,
                                                std::string_view what);

// Whether the daemon now has the files; empty: no daemon runs.
[[nodiscard]] Result<std::optional<ReloadView>> reload_if_it_runs(const Context& context);

// To stderr: what devices refused of the policy that is in force now, if one is, and which have not answered. It may be
// something else than the change.
void warn_of_failures(const std::optional<ReloadView>& reload);

// Files that were removed or replaced, until it is sure that they may be.
class RemovedFiles {
public:
    [[nodiscard]] Result<void> remove(const std::string& root, const std::filesystem::path& path);
    void put_back() const;

private:
    std::vector<std::pair<std::filesystem::path, std::string>> files_;
};

}    // namespace rdmaqos::ctl
