#include "policy/model/fabric_directory.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "policy/model/opensm_order.h"

namespace rdmaqos {

FabricDirectory::FabricDirectory(const Policy& policy, const Fabric& fabric, const std::vector<LocalPort>& local)
{
    for (const auto& port : fabric.ports) {
        ports_.push_back({port.guid, port.node_guid, port.port, port.type, port.description, &port.pkeys});
        if (port.subnet_manager) {
            subnet_managers_.push_back(port.guid);
        }
    }
    for (const auto& port : local) {
        if (port.port_guid == Guid{}) {
            continue;    // RoCE ports of some drivers have none
        }
        // What the fabric file says of a port of ours goes first: a description may have been set by the subnet
        // manager.
        const auto* listed = fabric.find_port(port.port_guid);
        const std::string_view description = listed != nullptr ? listed->description : port.node_description;
        const Guid node_guid = listed != nullptr ? listed->node_guid : port.node_guid;
        const NodeType type = listed != nullptr ? listed->type : NodeType::Ca;
        ports_.push_back({port.port_guid, node_guid, port.port, type, description, &port.pkeys});
    }
    for (const auto& port : ports_) {
        for (const std::uint16_t pkey : *port.pkeys) {
            members_[partition_of(pkey)].push_back(port.guid);
            if ((pkey & kPKeyFullMember) != 0) {
                full_members_[partition_of(pkey)].insert(port.guid);
            }
        }
    }
    add_nodes();
    add_partition_names(policy, fabric);
}

void FabricDirectory::add_nodes()
{
    // Ports without a node GUID belong to one node if they share type and description.
    std::map<std::tuple<std::string_view, Guid, NodeType>, FabricNode> all;
    for (const auto& port : ports_) {
        auto [entry, is_new] = all.try_emplace({port.description, port.node_guid, port.type});
        FabricNode& node = entry->second;
        if (is_new) {
            node.type = port.type;
            node.order = opensm_order((port.node_guid == Guid{} ? port.guid : port.node_guid).value);
        }
        node.ports.emplace(port.port, port.guid);
    }
    for (const auto& [key, node] : all) {
        const auto description = std::get<std::string_view>(key);
        const auto known = nodes_.find(description);
        if (known == nodes_.end() || node.order < known->second.order) {
            nodes_.insert_or_assign(description, node);
        }
    }
}

void FabricDirectory::add_partition_names(const Policy& policy, const Fabric& fabric)
{
    std::map<std::uint16_t, std::string> names;    // in OpenSM's order; a partition without members does not exist
    for (const auto& [pkey, ports] : members_) {
        names.emplace(opensm_order(pkey), pkey == kPKeyMask ? "Default" : fmt::format("{:04x}", pkey));
    }
    for (const auto& partition : fabric.partitions) {
        if (const auto entry = names.find(opensm_order(partition.pkey)); entry != names.end()) {
            entry->second = partition.name;
        }
    }
    for (const auto& [order, name] : names) {
        partitions_.emplace(name, opensm_order(order));
    }
    // The fabric's names go first, the policy's own help where it is silent.
    for (const auto& partition : policy.partitions) {
        partitions_.emplace(partition.name, partition.pkey);
    }
}

std::vector<std::pair<Guid, NodeType>> FabricDirectory::node_types() const
{
    std::vector<std::pair<Guid, NodeType>> types;
    types.reserve(ports_.size());
    for (const auto& port : ports_) {
        types.emplace_back(port.guid, port.type);
    }
    std::stable_sort(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    types.erase(
        std::unique(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.first == b.first; }),
        types.end());
    return types;
}

bool FabricDirectory::has_type(NodeType type) const
{
    return std::any_of(ports_.begin(), ports_.end(), [type](const KnownPort& port) { return port.type == type; });
}

NodeLookup FabricDirectory::find_port(std::string_view description, std::uint64_t port) const
{
    const auto found = nodes_.find(description);
    if (found == nodes_.end()) {
        return {};
    }
    const FabricNode& node = found->second;
    if (node.type == NodeType::Switch) {
        // All ports of a switch have its one GUID.
        return {true, node.ports.begin()->second, node.ports.rbegin()->first, node.type};
    }
    if (port <= std::numeric_limits<std::uint32_t>::max()) {
        if (const auto entry = node.ports.find(static_cast<std::uint32_t>(port)); entry != node.ports.end()) {
            return {true, entry->second, node.ports.rbegin()->first, node.type};
        }
    }
    return {true, std::nullopt, node.ports.rbegin()->first, node.type};
}

std::optional<std::uint16_t> FabricDirectory::find_partition(std::string_view name) const
{
    const auto found = partitions_.find(name);
    return found == partitions_.end() ? std::nullopt : std::optional(found->second);
}

bool FabricDirectory::add_members(Interval pkeys, std::vector<Interval>& guids) const
{
    bool any = false;
    const auto first = static_cast<std::uint16_t>(std::min<std::uint64_t>(pkeys.first, kPKeyFullMember));
    for (auto entry = members_.lower_bound(first); entry != members_.end() && entry->first <= pkeys.last; ++entry) {
        any = true;
        for (const Guid guid : entry->second) {
            guids.push_back({guid.value, guid.value});
        }
    }
    return any;
}

IntervalSet FabricDirectory::partitions_with(std::size_t full_members) const
{
    std::vector<Interval> partitions;
    for (const auto& [partition, ports] : full_members_) {
        if (ports.size() >= full_members) {
            partitions.push_back({partition, partition});
        }
    }
    return IntervalSet(std::move(partitions));
}

bool FabricDirectory::has_partition(Interval pkeys) const
{
    const auto first = static_cast<std::uint16_t>(std::min<std::uint64_t>(pkeys.first, kPKeyFullMember));
    const auto entry = members_.lower_bound(first);
    return entry != members_.end() && entry->first <= pkeys.last;
}

std::optional<PortName> split_port_name(const std::string& name)
{
    constexpr std::size_t kShortest = 3;    // "/P1"
    const auto slash = name.rfind('/');
    if (slash == std::string::npos || name.size() - slash < kShortest ||
        (name[slash + 1] != 'P' && name[slash + 1] != 'p')) {
        return std::nullopt;
    }
    return PortName{std::string_view(name).substr(0, slash),
                    static_cast<std::uint32_t>(std::strtoul(name.c_str() + slash + 2, nullptr, 0))};
}

}    // namespace rdmaqos
