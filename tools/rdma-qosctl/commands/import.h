// Files of other programs, made into files of ours. No daemon is asked.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "policy/model/fabric.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

struct ImportFabricOptions {
    std::string discovery;     // of ibnetdiscover; "-": stdin
    std::string partitions;    // partitions.conf
    std::string node_names;    // node-name-map
    std::string subnet_manager;
    std::string output;    // empty: stdout
};
[[nodiscard]] Result<ExitStatus> import_fabric(const Context& context, const ImportFabricOptions& options);

struct ImportOpensmOptions {
    std::string file;      // native policy; "-": stdin
    std::string fabric;    // fabric file; empty: the host's
    std::string output;    // empty: stdout
    bool replace = false;  // an output file that is there, whatever is in it
};
[[nodiscard]] Result<ExitStatus> import_opensm(const Context& context, const ImportOpensmOptions& options);
// On this fabric, whatever the options name.
[[nodiscard]] Result<ExitStatus> import_opensm(const Context& context, const ImportOpensmOptions& options,
                                               const Fabric& fabric);

}    // namespace rdmaqos::ctl
