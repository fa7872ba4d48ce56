// Options of `rdma-qosctl import-fabric` and `import-opensm`.
#pragma once

#include <string>

#include "tools/rdma-qosctl/commands/import.h"

namespace CLI {
class App;
}

namespace rdmaqos::ctl {

void add_import_fabric_options(CLI::App& command, ImportFabricOptions& fabric);
// `topology`: the fabric of a test case.
void add_import_opensm_options(CLI::App& command, ImportOpensmOptions& native, std::string& topology);

}    // namespace rdmaqos::ctl
