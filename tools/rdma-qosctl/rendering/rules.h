// Transient policy files as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/load/host_files.h"
#include "policy/load/transient_files.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {

struct RuleView {
    std::string name;
    TransientFile file;
    std::optional<SkippedFile> skipped;    // it is not read
};

[[nodiscard]] std::string render_rules(const std::vector<RuleView>& rules, const Screen& screen);
[[nodiscard]] Json rule_json(const RuleView& rule);

}    // namespace rdmaqos::ctl
