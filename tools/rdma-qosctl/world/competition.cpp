#include "tools/rdma-qosctl/world/competition.h"

#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

ClassAllocations solve_below(const LevelClasses& classes, const Tree& tree, Bandwidth link_speed,
                             const ClassDemands& demands)
{
    if (classes.divide()) {
        return solve(tree, link_speed, classes.port(), demands);
    }
    ClassAllocations all;
    const auto wanted = demands.find(0);
    all.elements = solve(tree, link_speed, wanted == demands.end() ? Demands() : wanted->second);
    return all;
}

}    // namespace

ElementPath Competition::place(std::uint64_t process, const ElementPath& path) const
{
    if (is_adaptive) {
        const ElementPath copy = path_of_copy(process, path);
        return tree.contains(copy) ? copy : path;
    }
    return is_per_process ? path_in_process(process, path) : path;
}

const Senders& Competition::around(std::uint8_t port_class, std::uint64_t process) const
{
    static const Senders kNobody;
    const auto here = senders.find(port_class);
    if (here == senders.end()) {
        return kNobody;
    }
    const auto found = here->second.find(is_per_process || is_adaptive ? process : 0);
    return found == here->second.end() ? kNobody : found->second;
}

std::size_t Competition::other_processes(std::uint8_t port_class, std::uint64_t process) const
{
    const auto here = senders.find(port_class);
    return !is_per_process || here == senders.end() ? 0 : here->second.size() - here->second.count(process);
}

double Competition::busy_kbps(std::uint8_t port_class, const ElementPath& at) const
{
    if (!classes.divide()) {
        const auto found = busy.elements.find(at);
        return found == busy.elements.end() ? 0 : found->second.kbps;
    }
    const auto here = busy.kbps_in_class.find(port_class);
    if (here == busy.kbps_in_class.end()) {
        return 0;
    }
    const auto found = here->second.find(at);
    return found == here->second.end() ? 0 : found->second;
}

bool Competition::is_held_by_other_classes(std::uint8_t port_class) const
{
    const auto wanted = demands.find(port_class);
    if (!classes.divide() || wanted == demands.end()) {
        return false;
    }
    constexpr double kRounding = 1e-6;
    const auto without = solve_below(classes, tree, link_speed, {{port_class, wanted->second}});
    return without.classes.at(port_class).kbps * (1 - kRounding) > busy.classes.at(port_class).kbps;
}

Allocation Competition::alone(std::uint8_t port_class, const ElementPath& at) const
{
    return solve_below(classes, tree, link_speed, {{port_class, {{at, std::nullopt}}}}).elements.at(at);
}

Competition compete(const World& world, const DeviceView& device)
{
    Competition result;
    result.link_speed = device.link_speed;
    result.is_adaptive = device.is_adaptive();
    result.is_per_process = device.has_tree_for_each();
    result.classes = LevelClasses(world.manager.levels, device);
    ProcessSenders all;
    for (const auto& sender : senders_in_leaves(world, device)) {
        const std::uint64_t process = result.is_per_process || result.is_adaptive ? sender.process : 0;
        all[process].add(sender.leaf, sender.rate);
        const std::uint8_t port_class = result.classes.class_of(sender.level, sender.leaf, sender.dscp);
        result.senders[port_class][process].add(sender.leaf, sender.rate);
    }
    result.tree = result.is_adaptive      ? tree_with_copies(to_tree(device), all)
                  : result.is_per_process ? trees_of_processes(to_tree(device), all, device.caps())
                                          : to_tree(device);
    for (const auto& [port_class, processes] : result.senders) {
        for (const auto& [process, senders] : processes) {
            for (const auto& [leaf, most] : senders.demands()) {
                result.demands[port_class].emplace(result.place(process, leaf), most);
            }
        }
    }
    result.busy = solve_below(result.classes, result.tree, result.link_speed, result.demands);
    return result;
}

}    // namespace rdmaqos::ctl
