// Options of `rdma-qosctl rule add`, `rule remove` and `rule list`.
#pragma once

#include "tools/rdma-qosctl/commands/rule.h"

namespace CLI {
class App;
}

namespace rdmaqos::ctl {

inline constexpr const char* kRuleExamples =
    "  rdma-qosctl rule add --for 2h --owner slurm-job-4711 --cgroup-pattern '*/job_4711/*' --level rpc\n"
    "  rdma-qosctl rule remove --owner slurm-job-4711\n"
    "  rdma-qosctl rule list";
inline constexpr const char* kRuleAddExamples =
    "  rdma-qosctl rule add --for 2h --owner slurm-job-4711 --cgroup-pattern '*/job_4711/*' --level rpc\n"
    "  rdma-qosctl rule add --cgroup /kubepods.slice/pod7.slice --unit 'pod7*' --level bulk\n"
    "  rdma-qosctl rule add --name 70-late --user alice --level bulk";
inline constexpr const char* kRuleRemoveExamples = "  rdma-qosctl rule remove slurm-job-4711\n"
                                                   "  rdma-qosctl rule remove --owner slurm-job-4711";

// Criteria are named as in a match rule, but for `cgroup`, which stands for the end of the rule.
void add_rule_options(CLI::App& command, RuleOptions& options);
void add_removal_options(CLI::App& command, RuleRemoval& removal);

}    // namespace rdmaqos::ctl
