#include "tools/rdma-qosctl/world/busy_rates.h"

#include "tools/rdma-qosctl/world/competition.h"

namespace rdmaqos::ctl {

BusyRates busy_rates(const World& world, const DeviceView& device)
{
    const Competition competition = compete(world, device);
    std::map<ElementPath, Allocation> sums;    // over classes and processes
    for (const auto& [port_class, processes] : competition.senders) {
        for (const auto& [process, senders] : processes) {
            for (const auto& [leaf, most] : senders.demands()) {
                if (const ElementPath at = competition.place(process, leaf); competition.tree.contains(at)) {
                    sums[leaf].kbps += competition.busy_kbps(port_class, at);
                }
            }
        }
    }
    BusyRates rates;
    for (const auto& [leaf, sum] : sums) {
        rates.leaves[leaf.text()] = sum.rate();
    }
    for (const auto& [number, allocation] : competition.busy.classes) {
        rates.classes.push_back({number, competition.classes.port().classes.at(number),
                                 competition.classes.levels_in(number), allocation.rate()});
    }
    return rates;
}

}    // namespace rdmaqos::ctl
