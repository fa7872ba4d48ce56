// The fabric as port groups and rules ask for it: ports by node description, members by partition. Of two nodes or
// partitions that fit, the one OpenSM would find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/model/fabric.h"
#include "policy/model/local_port.h"
#include "policy/model/policy.h"

namespace rdmaqos {

// A port of the fabric file or of this host; one that is in both is in the list twice.
struct KnownPort {
    Guid guid;
    Guid node_guid;    // 0: not known
    std::uint32_t port = 1;
    NodeType type = NodeType::Ca;
    std::string_view description;
    const std::vector<std::uint16_t>* pkeys = nullptr;
};

struct FabricNode {
    NodeType type = NodeType::Ca;
    std::uint64_t order = 0;    // of two nodes with one description the lower is found
    std::map<std::uint32_t, Guid> ports;
};

struct NodeLookup {
    bool node_known = false;
    std::optional<Guid> guid;          // of the port
    std::uint32_t highest_port = 0;    // that is known of the node
    NodeType type = NodeType::Ca;
};

// The fabric as groups ask for it.
class FabricDirectory {
public:
    // All must outlive the directory.
    FabricDirectory(const Policy& policy, const Fabric& fabric, const std::vector<LocalPort>& local);

    [[nodiscard]] std::vector<std::pair<Guid, NodeType>> node_types() const;
    [[nodiscard]] bool has_type(NodeType type) const;
    [[nodiscard]] NodeLookup find_port(std::string_view description, std::uint64_t port) const;
    [[nodiscard]] std::optional<std::uint16_t> find_partition(std::string_view name) const;
    // Adds every port with a P_Key of the range; false if there is none.
    bool add_members(Interval pkeys, std::vector<Interval>& guids) const;
    // Whether any of these partitions has a member.
    [[nodiscard]] bool has_partition(Interval pkeys) const;
    // Those with at least so many full members.
    [[nodiscard]] IntervalSet partitions_with(std::size_t full_members) const;
    [[nodiscard]] const std::vector<Guid>& subnet_managers() const { return subnet_managers_; }
    [[nodiscard]] bool is_empty() const { return ports_.empty(); }

private:
    void add_nodes();
    void add_partition_names(const Policy& policy, const Fabric& fabric);

    std::vector<KnownPort> ports_;
    std::vector<Guid> subnet_managers_;
    std::map<std::string_view, FabricNode> nodes_;    // the one OpenSM would find by this description
    std::map<std::uint16_t, std::vector<Guid>> members_;
    std::map<std::uint16_t, std::set<Guid>> full_members_;
    std::map<std::string, std::uint16_t, std::less<>> partitions_;
};

// "DESCRIPTION/Pn", split where OpenSM does, and the number as it reads it: by strtoul with base 0 into 32 bits,
// whatever follows it is ignored.
struct PortName {
    std::string_view description;    // points into the name
    std::uint32_t port = 0;          // 0: none
};
// Empty: not of this form.
[[nodiscard]] std::optional<PortName> split_port_name(const std::string& name);

}    // namespace rdmaqos
