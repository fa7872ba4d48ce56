// Port groups to members: who belongs to a group, by the fabric file and the ports of this host. The rules are
// OpenSM's (which looks at the fabric itself), with two differences: GUIDs stay the intervals they were written as,
// whether or not somebody knows such a port, and what cannot be looked up is reported rather than refused.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/match.h"
#include "policy/opensm_order.h"

namespace rdmaqos {
namespace {

// A port of the fabric file or of this host; one that is in both is in the list twice.
struct KnownPort {
    Guid guid;
    Guid node_guid;    // 0: not known
    std::uint32_t port = 1;
    NodeType type = NodeType::Ca;
    std::string_view description;
    const std::vector<std::uint16_t>* pkeys = nullptr;
};

struct Node {
    NodeType type = NodeType::Ca;
    std::uint64_t order = 0;    // of two nodes with one description the lower is found
    std::map<std::uint32_t, Guid> ports;
};

struct NodeLookup {
    bool node_known = false;
    std::optional<Guid> guid;
};

// The fabric as groups ask for it.
class Directory {
public:
    Directory(const Policy& policy, const Fabric& fabric, const std::vector<LocalPort>& local);

    [[nodiscard]] std::vector<std::pair<Guid, NodeType>> node_types() const;
    [[nodiscard]] bool has_type(NodeType type) const;
    [[nodiscard]] NodeLookup find_port(std::string_view description, std::uint64_t port) const;
    [[nodiscard]] std::optional<std::uint16_t> find_partition(std::string_view name) const;
    // Adds every port with a P_Key of the range; false if there is none.
    bool add_members(Interval pkeys, std::vector<Interval>& guids) const;

private:
    void add_nodes();
    void add_partition_names(const Policy& policy, const Fabric& fabric);

    std::vector<KnownPort> ports_;
    std::map<std::string_view, Node> nodes_;    // the one OpenSM would find by this description
    std::map<std::uint16_t, std::vector<Guid>> members_;
    std::map<std::string, std::uint16_t, std::less<>> partitions_;
};

Directory::Directory(const Policy& policy, const Fabric& fabric, const std::vector<LocalPort>& local)
{
    for (const auto& port : fabric.ports) {
        ports_.push_back({port.guid, port.node_guid, port.port, port.type, port.description, &port.pkeys});
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
        }
    }
    add_nodes();
    add_partition_names(policy, fabric);
}

void Directory::add_nodes()
{
    // Ports without a node GUID belong to one node if they share type and description.
    std::map<std::tuple<std::string_view, Guid, NodeType>, Node> all;
    for (const auto& port : ports_) {
        auto [entry, is_new] = all.try_emplace({port.description, port.node_guid, port.type});
        Node& node = entry->second;
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

void Directory::add_partition_names(const Policy& policy, const Fabric& fabric)
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

std::vector<std::pair<Guid, NodeType>> Directory::node_types() const
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

bool Directory::has_type(NodeType type) const
{
    return std::any_of(ports_.begin(), ports_.end(), [type](const KnownPort& port) { return port.type == type; });
}

NodeLookup Directory::find_port(std::string_view description, std::uint64_t port) const
{
    const auto found = nodes_.find(description);
    if (found == nodes_.end()) {
        return {};
    }
    const Node& node = found->second;
    if (node.type == NodeType::Switch) {
        return {true, node.ports.begin()->second};    // all ports of a switch have its one GUID
    }
    if (port <= std::numeric_limits<std::uint32_t>::max()) {
        if (const auto entry = node.ports.find(static_cast<std::uint32_t>(port)); entry != node.ports.end()) {
            return {true, entry->second};
        }
    }
    return {true, std::nullopt};
}

std::optional<std::uint16_t> Directory::find_partition(std::string_view name) const
{
    const auto found = partitions_.find(name);
    return found == partitions_.end() ? std::nullopt : std::optional(found->second);
}

bool Directory::add_members(Interval pkeys, std::vector<Interval>& guids) const
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

struct PortName {
    std::string_view description;
    std::uint64_t port = 0;
};

// "DESCRIPTION/Pn", the number as OpenSM reads it: by strtoul with base 0, whatever follows it is ignored.
std::optional<PortName> split_port_name(const std::string& name)
{
    const auto slash = name.rfind('/');
    if (slash == std::string::npos || slash + 2 >= name.size() || (name[slash + 1] != 'P' && name[slash + 1] != 'p') ||
        std::isdigit(static_cast<unsigned char>(name[slash + 2])) == 0) {
        return std::nullopt;
    }
    const std::uint64_t port = std::strtoull(name.c_str() + slash + 2, nullptr, 0);
    if (port == 0) {
        return std::nullopt;
    }
    return PortName{std::string_view(name).substr(0, slash), port};
}

// Resolves one group; what it cannot find it tells.
class GroupResolver {
public:
    GroupResolver(const Directory& directory, const std::vector<LocalPort>& local, const PortGroup& group,
                  std::vector<std::string>& unresolved)
        : directory_(directory), local_(local), group_(group), unresolved_(unresolved)
    {
    }

    ResolvedGroup resolve()
    {
        guids_ = group_.port_guids.intervals();
        add_port_names();
        add_partitions();
        add_self();
        check_node_types();
        ResolvedGroup result{IntervalSet(std::move(guids_)), group_.gids, group_.node_types};
        add_local_gids(result);
        return result;
    }

private:
    void tell(const std::string& what) { unresolved_.push_back(fmt::format("port-group {}: {}", group_.name, what)); }

    void add_port_names()
    {
        for (const auto& name : group_.port_names) {
            const auto parts = split_port_name(name);
            if (!parts) {
                tell(fmt::format("port-name \"{}\" is not of the form DESCRIPTION/Pn with a port number from 1", name));
                continue;
            }
            const auto found = directory_.find_port(parts->description, parts->port);
            if (found.guid) {
                guids_.push_back({found.guid->value, found.guid->value});
            } else if (found.node_known) {
                tell(
                    fmt::format("port-name \"{}\": port {} of this node is not in the fabric file", name, parts->port));
            } else {
                tell(fmt::format("port-name \"{}\": no node with this description is in the fabric file", name));
            }
        }
    }

    void add_partitions()
    {
        for (const auto& range : group_.pkeys.intervals()) {
            if (!directory_.add_members(range, guids_)) {
                tell(fmt::format("no port with pkey {} is in the fabric file",
                                 to_string(IntervalSet({range}), NumberBase::Hex)));
            }
        }
        for (const auto& name : group_.partitions) {
            const auto pkey = directory_.find_partition(name);
            if (!pkey) {
                tell(fmt::format("partition {} is not in the fabric file, or has no port there", name));
            } else if (!directory_.add_members({*pkey, *pkey}, guids_)) {
                tell(fmt::format("partition {}: no port with pkey {:#x} is in the fabric file", name, *pkey));
            }
        }
    }

    void add_self()
    {
        if (!group_.self) {
            return;
        }
        for (const auto& port : local_) {
            if (port.port_guid != Guid{}) {
                guids_.push_back({port.port_guid.value, port.port_guid.value});
            }
        }
        if (local_.empty()) {
            tell("node-type SELF: this host has no RDMA port");
        }
    }

    void check_node_types()
    {
        const NodeTypes& types = group_.node_types;
        if (types.ca && types.switch_ && types.router) {
            return;
        }
        for (const auto& [wanted, type] :
             {std::pair{types.ca, NodeType::Ca}, std::pair{types.switch_, NodeType::Switch},
              std::pair{types.router, NodeType::Router}}) {
            if (wanted && !directory_.has_type(type)) {
                tell(fmt::format("node-type {}: no such port is in the fabric file", to_string(type)));
            }
        }
    }

    // A port of this host that is a member is one under every address it has.
    void add_local_gids(ResolvedGroup& result) const
    {
        for (const auto& port : local_) {
            const bool member = (group_.self && port.port_guid == Guid{}) || result.node_types.ca ||
                                (port.port_guid != Guid{} && result.guids.contains(port.port_guid.value));
            if (!member) {
                continue;
            }
            for (const auto& gid : port.gids) {
                result.gids.push_back({gid, 128});
            }
        }
    }

    const Directory& directory_;
    const std::vector<LocalPort>& local_;
    const PortGroup& group_;
    std::vector<std::string>& unresolved_;
    std::vector<Interval> guids_;
};

}    // namespace

ResolvedGroups resolve(const Policy& policy, const Fabric& fabric, const std::vector<LocalPort>& local)
{
    const Directory directory(policy, fabric, local);
    ResolvedGroups result;
    result.node_types = directory.node_types();
    result.groups.reserve(policy.groups.size());
    for (const auto& group : policy.groups) {
        result.groups.push_back(GroupResolver(directory, local, group, result.unresolved).resolve());
    }
    return result;
}

}    // namespace rdmaqos
