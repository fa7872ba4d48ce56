// Options of the commands that try a policy before it is in force.
#pragma once

#include "tools/rdma-qosctl/commands/check.h"
#include "tools/rdma-qosctl/commands/plan.h"

namespace CLI {
class App;
}

namespace rdmaqos::ctl {

void add_check_options(CLI::App& command, CheckOptions& options);
void add_plan_options(CLI::App& command, PlanOptions& options);

}    // namespace rdmaqos::ctl
