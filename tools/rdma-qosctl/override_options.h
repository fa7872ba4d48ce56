// `rdma-qosctl override` on the command line.
#pragma once

#include <functional>

#include "tools/rdma-qosctl/commands/override.h"

namespace CLI {
class App;
}

namespace rdmaqos::ctl {

struct OverrideArguments {
    OverrideOptions set;
    OverrideClearing clear;
};

// Adds the command with its parts. `choose` is told what to run; `arguments` must live until that has run.
using OverrideRun = std::function<Result<ExitStatus>(const Context&)>;
void add_override_command(CLI::App& app, OverrideArguments& arguments, std::function<void(OverrideRun)> choose);

}    // namespace rdmaqos::ctl
