#include "tools/rdma-qosctl/trial_options.h"

#include <CLI/CLI.hpp>

namespace rdmaqos::ctl {

void add_try_options(CLI::App& command, TrialOptions& options)
{
    command
        .add_option("FILE", options.file,
                    "What to put in the place of /etc/rdma-qos/policy.yaml, beside the host's other files; -: stdin")
        ->required();
    command.add_option("--timeout", options.timeout, "Time until it goes back: 90, 5m, 1h30min; at most 24h; none: 60 s")
        ->type_name("TIME");
}

}    // namespace rdmaqos::ctl
