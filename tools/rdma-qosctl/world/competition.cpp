#include "tools/rdma-qosctl/world/competition.h"

#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {

ElementPath Competition::place(std::uint64_t process, const ElementPath& path) const
{
    return is_per_process ? path_in_process(process, path) : path;
}

const Senders& Competition::around(std::uint64_t process) const
{
    static const Senders kNobody;
    const auto found = senders.find(is_per_process ? process : 0);
    return found == senders.end() ? kNobody : found->second;
}

std::size_t Competition::other_processes(std::uint64_t process) const
{
    return is_per_process ? senders.size() - senders.count(process) : 0;
}

Competition compete(const World& world, const DeviceView& device)
{
    Competition result;
    result.link_speed = device.link_speed;
    result.is_per_process = device.attach_mode == "per-process";
    Demands demands;
    if (result.is_per_process) {
        result.senders = senders_by_process(world, device);
        result.tree = trees_of_processes(to_tree(device), result.senders, device.divides_caps);
        for (const auto& [process, senders] : result.senders) {
            for (const auto& [leaf, most] : senders.demands()) {
                demands.emplace(path_in_process(process, leaf), most);
            }
        }
    } else {
        result.senders.emplace(0, senders_on(world, device));
        result.tree = to_tree(device);
        demands = result.senders.at(0).demands();
    }
    result.busy = solve(result.tree, result.link_speed, demands);
    return result;
}

}    // namespace rdmaqos::ctl
