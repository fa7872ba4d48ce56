#include "tools/rdma-qosctl/world/busy_rates.h"

#include "lib/model/solver.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {

BusyRates busy_rates(const World& world, const DeviceView& device)
{
    const Demands demands = senders_on(world, device).demands();
    BusyRates rates;
    for (const auto& [path, allocation] : solve(to_tree(device), device.link_speed, demands)) {
        if (demands.contains(path)) {
            rates[path.text()] = allocation.rate();
        }
    }
    return rates;
}

}    // namespace rdmaqos::ctl
