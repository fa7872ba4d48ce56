#include "tools/rdma-qosctl/opensm_conformance/import.h"

#include "tools/rdma-qosctl/opensm_conformance/topology.h"

namespace rdmaqos::ctl {

Result<ExitStatus> import_opensm_case(const Context& context, const ImportOpensmOptions& options,
                                      const std::string& topology)
{
    const auto fabric = read_topology(topology);
    return fabric ? import_opensm(context, options, *fabric) : fail(fabric.error());
}

}    // namespace rdmaqos::ctl
