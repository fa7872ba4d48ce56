// Options of `rdma-qosctl try`.
#pragma once

#include "tools/rdma-qosctl/commands/trial.h"

namespace CLI {
class App;
}

namespace rdmaqos::ctl {

inline constexpr const char* kTryExamples =
    "  rdma-qosctl try new.yaml                       for a minute in the place of policy.yaml\n"
    "  rdma-qosctl try new.yaml --timeout 10min && sleep 300 && rdma-qosctl confirm";
inline constexpr const char* kConfirmExamples =
    "  rdma-qosctl confirm\n"
    "  rdma-qosctl confirm --force                    although somebody has edited policy.yaml meanwhile";
inline constexpr const char* kRevertExamples = "  rdma-qosctl revert";

void add_try_options(CLI::App& command, TrialOptions& options);

}    // namespace rdmaqos::ctl
