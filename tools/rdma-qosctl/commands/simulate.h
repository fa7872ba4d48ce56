// `rdma-qosctl simulate`.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

struct SimulateOptions {
    std::vector<std::string> loads;    // LEVEL[*SENDERS]=RATE|inf, separated by commas
    std::string loads_file;            // instead of `loads`
    std::string policy;                // empty: the daemon's trees, or the host's files
    std::string devices_file;          // of simulated devices
    bool offline = false;
    std::string device;    // empty: all
    bool check = false;    // by packets
    std::string html;      // file for the page; "-": stdout, instead of the text
};
[[nodiscard]] Result<ExitStatus> simulate(const Context& context, const SimulateOptions& options);

}    // namespace rdmaqos::ctl
