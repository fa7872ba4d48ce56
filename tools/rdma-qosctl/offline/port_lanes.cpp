#include "tools/rdma-qosctl/offline/port_lanes.h"

#include "lib/base/try.h"
#include "lib/smp/umad.h"

namespace rdmaqos::ctl {

Result<smp::PortLanes> read_port_lanes(const std::string& root, const std::string& device, std::uint32_t port)
{
    auto umad = TRY(smp::Umad::open(device, port, root.empty() ? "/" : root));
    return smp::read_lanes([&](const smp::Packet& question) { return umad.exchange(question); });
}

}    // namespace rdmaqos::ctl
