// Rules and overrides of levels that end by themselves, as text and as JSON.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/load/host_files.h"
#include "policy/load/transient_files.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/overrides.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

struct RuleView {
    std::string name;
    TransientFile file;
    std::optional<SkippedFile> skipped;    // it is not read
};

[[nodiscard]] std::string render_rules(const std::vector<RuleView>& rules, const Screen& screen);
[[nodiscard]] Json rule_json(const RuleView& rule);

// An override that a file states, and whether it counts.
struct ListedOverride {
    OverrideView view;
    // "applied"; "no-effect": there is no such level or class, or a later file has another value; "ended", "masked" or
    // "disabled": the file is not read; "unknown": the policy has errors.
    std::string state;
};
[[nodiscard]] std::string render_overrides(const std::vector<ListedOverride>& overrides,
                                           std::chrono::system_clock::time_point now, const Screen& screen);
[[nodiscard]] Json listed_override_json(const ListedOverride& listed);

// That a level is overridden now. `reload`: what became of it in the daemon; empty: none runs.
[[nodiscard]] std::string render_set_override(const OverrideView& view, const std::optional<ReloadView>& reload,
                                              std::chrono::system_clock::time_point now);
[[nodiscard]] Json override_json(const OverrideView& view);
// "2: rpc max-rate 10 Gbit/s in place of 25 Gbit/s, ends in 29 min; bulk share 5 in place of 1, ends when the host
// restarts"
[[nodiscard]] std::string describe_overrides(const std::vector<OverrideView>& overrides,
                                             std::chrono::system_clock::time_point now);

}    // namespace rdmaqos::ctl
