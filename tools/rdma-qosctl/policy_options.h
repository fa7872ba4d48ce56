// Options of the commands that try a policy before it is in force, and the policy of others.
#pragma once

#include "tools/rdma-qosctl/commands/check.h"
#include "tools/rdma-qosctl/commands/plan.h"
#include "tools/rdma-qosctl/commands/simulate.h"

namespace CLI {
class App;
class Validator;
}    // namespace CLI

namespace rdmaqos::ctl {

// For a positional policy: `level=rpc` is an option without its dashes, not a file.
[[nodiscard]] CLI::Validator policy_file(const CLI::App& command);

void add_check_options(CLI::App& command, CheckOptions& options);
void add_plan_options(CLI::App& command, PlanOptions& options);
void add_simulate_options(CLI::App& command, SimulateOptions& simulated);

}    // namespace rdmaqos::ctl
