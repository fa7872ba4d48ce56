// Options of `rdma-qosctl rule add`, `rule remove` and `rule list`.
#pragma once

#include "tools/rdma-qosctl/commands/rule.h"

namespace CLI {
class App;
}

namespace rdmaqos::ctl {

// Criteria are named as in a match rule, but for `cgroup`, which stands for the end of the rule.
void add_rule_options(CLI::App& command, RuleOptions& options);
void add_removal_options(CLI::App& command, RuleRemoval& removal);

}    // namespace rdmaqos::ctl
