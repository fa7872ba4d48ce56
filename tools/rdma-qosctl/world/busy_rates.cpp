#include "tools/rdma-qosctl/world/busy_rates.h"

#include "tools/rdma-qosctl/world/competition.h"

namespace rdmaqos::ctl {

BusyRates busy_rates(const World& world, const DeviceView& device)
{
    const Competition competition = compete(world, device);
    std::map<ElementPath, Allocation> sums;    // over the processes
    for (const auto& [process, senders] : competition.senders) {
        for (const auto& [leaf, most] : senders.demands()) {
            const auto found = competition.busy.find(competition.place(process, leaf));
            if (found != competition.busy.end()) {
                sums[leaf].kbps += found->second.kbps;
            }
        }
    }
    BusyRates rates;
    for (const auto& [leaf, sum] : sums) {
        rates[leaf.text()] = sum.rate();
    }
    return rates;
}

}    // namespace rdmaqos::ctl
