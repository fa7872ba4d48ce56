#include "policy/match/resolve.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "policy/match/path_end.h"
#include "policy/model/fabric_directory.h"

namespace rdmaqos {
namespace {

// Resolves one group; what it cannot find it tells.
class GroupResolver {
public:
    GroupResolver(const FabricDirectory& directory, const std::vector<LocalPort>& local, const PortGroup& group,
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
            if (!parts || parts->port == 0) {
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
        if (group_.subnet_manager) {
            for (const Guid guid : directory_.subnet_managers()) {
                guids_.push_back({guid.value, guid.value});
            }
            if (directory_.subnet_managers().empty()) {
                tell("node-type SELF: no port of the fabric file is the subnet manager's (`sm: true`)");
            }
        }
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

    const FabricDirectory& directory_;
    const std::vector<LocalPort>& local_;
    const PortGroup& group_;
    std::vector<std::string>& unresolved_;
    std::vector<Interval> guids_;
};

// Without naming them by GUID or GID.
bool may_have_local_ports(const PortGroup& group)
{
    return group.self || group.subnet_manager || !group.port_names.empty() || !group.pkeys.empty() ||
           !group.partitions.empty() || (!group.node_types.none() && !includes_all(group.node_types));
}

}    // namespace

ResolvedGroups resolve(const Policy& policy, const Fabric& fabric, const std::vector<LocalPort>& local)
{
    const FabricDirectory directory(policy, fabric, local);
    ResolvedGroups result;
    result.node_types = directory.node_types();
    result.lids = LidTable(fabric);
    result.groups.reserve(policy.groups.size());
    for (const auto& group : policy.groups) {
        const std::size_t before = result.unresolved.size();
        result.groups.push_back(GroupResolver(directory, local, group, result.unresolved).resolve());
        if (result.unresolved.size() > before || (local.empty() && may_have_local_ports(group))) {
            result.incomplete.push_back(result.groups.size() - 1);
        }
    }
    return result;
}

}    // namespace rdmaqos
