#include "tools/rdma-qosctl/import/fabric.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "policy/model/opensm_order.h"
#include "policy/text/yaml_text.h"
#include "policy/yaml/fields.h"
#include "policy/yaml/yaml_reader.h"
#include "tools/rdma-qosctl/import/ibnetdiscover.h"
#include "tools/rdma-qosctl/import/node_name_map.h"
#include "tools/rdma-qosctl/import/partitions.h"

namespace rdmaqos {
namespace {

// A list this long still goes on one line.
constexpr std::size_t kMostOnOneLine = 12;
constexpr std::size_t kMostExamples = 5;
// What a port or partition takes of the values that a file may have, without its P_Keys.
constexpr std::size_t kValuesOfPort = 24;

struct Port {
    Guid guid;
    std::uint32_t number = 1;
    Guid node_guid;
    std::optional<NodeType> type;    // empty: not known
    std::string_view description;
    std::optional<LidRange> lids;
    std::optional<IbRate> rate;
    std::vector<std::uint16_t> pkeys;
};

// Who is in a partition, and what there is to say of it.
struct Members {
    std::vector<std::pair<std::size_t, bool>> ports;    // index into the ports, full member
    std::vector<std::uint64_t> unknown;                 // GUIDs that are not in the discovery; the first few
    std::size_t unknown_count = 0;
    bool needs_subnet_manager = false;    // SELF says something else than what is said of all, and it is not known
};

// "2.5Gbps"
std::string in_yaml(IbRate rate)
{
    return fmt::format("{:g}Gbps", static_cast<double>(nominal(rate).kbps()) / 1e6);
}

class FabricWriter {
public:
    FabricWriter(const FabricImport& input, const IbnetdiscoverReport* discovery, const PartitionTable& partitions,
                 const NodeNameMap& names, Diagnostics& diagnostics)
        : input_(input), discovery_(discovery), partitions_(partitions), names_(names), diagnostics_(diagnostics)
    {
    }

    std::string write()
    {
        if (discovery_ != nullptr) {
            add_discovered();
        } else {
            add_named();
        }
        if (ports_.empty()) {
            diagnostics_
                .warning(Location{}, discovery_ != nullptr ? "the discovery has no port with a link"
                                                           : "the partitions name no port by its GUID")
                .hint = "with this fabric file no port is known, and what is looked up in it has no members";
        }
        if (input_.subnet_manager) {
            note_subnet_manager();
        }
        if (!assign()) {
            return {};
        }
        write_head();
        write_ports();
        write_partitions();
        if (yaml_.size() > reader::YamlLimits{}.text_size) {
            refuse(fmt::format("the fabric file would have {} bytes", yaml_.size()));
        }
        return yaml_.take();
    }

private:
    void add_discovered()
    {
        for (const DiscoveredNode& node : discovery_->nodes) {
            const auto name = names_.find(node.guid.value);
            const bool is_named = node.guid.value != 0 && name != names_.end();
            for (const DiscoveredPort& port : node.ports) {
                add({port.guid,
                     port.number,
                     node.guid,
                     node.type,
                     is_named ? std::string_view(name->second) : std::string_view(node.description),
                     port.lids,
                     port.rate,
                     {}});
            }
        }
    }

    // Without a discovery: the ports by which partitions name them.
    void add_named()
    {
        std::set<std::uint64_t> guids;
        for (const auto& partition : partitions_.partitions) {
            for (const auto& [guid, assigned] : partition.ports) {
                guids.insert(guid);
            }
        }
        if (input_.subnet_manager) {
            guids.insert(input_.subnet_manager->value);
        }
        for (const std::uint64_t guid : guids) {
            add({Guid{guid}, 1, {}, std::nullopt, {}, {}, {}, {}});
        }
    }

    void add(Port port)
    {
        by_guid_.emplace(port.guid.value, ports_.size());
        if (port.type) {
            by_type_.at(static_cast<std::size_t>(*port.type)).push_back(ports_.size());
        }
        ports_.push_back(std::move(port));
    }

    void note_subnet_manager()
    {
        if (!by_guid_.contains(input_.subnet_manager->value)) {
            diagnostics_.warning(Location{}, fmt::format("--sm {}: no such port is in the discovery",
                                                         to_string(*input_.subnet_manager)));
        }
    }

    // Gives every port its P_Keys, partition by partition in the order of their numbers.
    bool assign()
    {
        for (const auto& partition : partitions_.partitions) {
            order_.push_back(&partition);
        }
        std::sort(order_.begin(), order_.end(), [](const auto* a, const auto* b) { return a->pkey < b->pkey; });
        std::size_t left = reader::YamlLimits{}.nodes;
        const std::size_t fixed = kValuesOfPort * (ports_.size() + order_.size() + 1);
        left -= std::min(left, fixed);
        for (const auto* partition : order_) {
            if (size_of(*partition) >= left) {
                refuse("the fabric file would have more than a million values");
                return false;
            }
            left -= size_of(*partition);
            members_.push_back(members_of(*partition));
            for (const auto& [port, full] : members_.back().ports) {
                ports_[port].pkeys.push_back(
                    static_cast<std::uint16_t>(partition->pkey | (full ? kPKeyFullMember : 0U)));
            }
        }
        return true;
    }

    // At most so many ports are members.
    [[nodiscard]] std::size_t size_of(const ConfiguredPartition& partition) const
    {
        std::size_t size = partition.ports.size() + 1;
        for (std::size_t type = 0; type < by_type_.size(); ++type) {
            size += partition.by_type.at(type) ? by_type_.at(type).size() : 0;
        }
        return size;
    }

    [[nodiscard]] Members members_of(const ConfiguredPartition& partition) const
    {
        Members members;
        std::unordered_map<std::size_t, Assigned> latest;
        const auto assign = [&latest](std::size_t port, const Assigned& assigned) {
            const auto [entry, is_new] = latest.emplace(port, assigned);
            if (!is_new && assigned.order > entry->second.order) {
                entry->second = assigned;
            }
        };
        for (std::size_t type = 0; type < by_type_.size(); ++type) {
            if (const auto& assigned = partition.by_type.at(type)) {
                for (const std::size_t port : by_type_.at(type)) {
                    assign(port, *assigned);
                }
            }
        }
        for (const auto& [guid, assigned] : partition.ports) {
            if (const auto port = by_guid_.find(guid); port != by_guid_.end()) {
                assign(port->second, assigned);
            } else if (members.unknown_count++ < kMostExamples) {
                members.unknown.push_back(guid);
            }
        }
        if (partition.subnet_manager) {
            members.needs_subnet_manager = !input_.subnet_manager && matters(partition);
            const auto port = input_.subnet_manager ? by_guid_.find(input_.subnet_manager->value) : by_guid_.end();
            if (port != by_guid_.end()) {
                assign(port->second, *partition.subnet_manager);
            }
        }
        for (const auto& [port, assigned] : latest) {
            members.ports.emplace_back(port, assigned.membership != PartitionMembership::Limited);
        }
        std::sort(members.ports.begin(), members.ports.end());
        return members;
    }

    // Whether SELF says something that is not said of all ports anyway.
    [[nodiscard]] static bool matters(const ConfiguredPartition& partition)
    {
        const Assigned& self = *partition.subnet_manager;
        return std::any_of(partition.by_type.begin(), partition.by_type.end(), [&self](const auto& all) {
            return !all || (all->order < self.order && (all->membership == PartitionMembership::Limited) !=
                                                           (self.membership == PartitionMembership::Limited));
        });
    }

    void refuse(std::string message)
    {
        diagnostics_.error(Location{}, std::move(message))
            .hint = "that is more than is read; leave out the partitions that no port-group names";
    }

    void write_head()
    {
        yaml_.comment(0, "Fabric file of rdma-qosd, made by `rdma-qosctl import-fabric` from");
        if (discovery_ != nullptr) {
            std::array<std::size_t, 3> nodes{};
            for (const auto& node : discovery_->nodes) {
                ++nodes.at(static_cast<std::size_t>(node.type));
            }
            const auto what = discovery_->is_ports_report ? "port" : "node";
            yaml_.comment(0, fmt::format("  {}: {}, of them {} CA, {} SWITCH, {} ROUTER", input_.discovery->name,
                                         counted(discovery_->nodes.size(), what), nodes[0], nodes[1], nodes[2]));
        }
        if (input_.partitions) {
            yaml_.comment(0, fmt::format("  {}: {}", input_.partitions->name,
                                         counted(partitions_.partitions.size(), "partition")));
        }
        if (input_.node_names) {
            yaml_.comment(0, fmt::format("  {}: {}", input_.node_names->name, counted(names_.size(), "name")));
        }
        yaml_.comment(0, "It is a snapshot: regenerate it when the fabric or its partitions change.");
        write_what_is_missing();
        yaml_.line(0, "version: 1");
    }

    void write_what_is_missing()
    {
        if (discovery_ == nullptr) {
            yaml_.comment(
                0, "Without a discovery: only ports that the partitions name; their nodes and types are not known,");
            yaml_.comment(0, "and ALL, ALL_CAS, ALL_SWITCHES and ALL_ROUTERS say nothing.");
        } else if (discovery_->is_ports_report) {
            yaml_.comment(
                0, "A ports report has no GUIDs of nodes: ports with one description count as one node's, and a");
            yaml_.comment(0, "node-name-map cannot be applied. It has no LMC either: each port has one LID here.");
        }
        if (!input_.partitions) {
            yaml_.comment(0,
                          "Without a partitions.conf: all ports are full members of Default, as OpenSM has it then.");
        }
    }

    void write_ports()
    {
        yaml_.blank();
        yaml_.line(0, ports_.empty() ? "ports: []" : "ports:");
        for (const Port& port : ports_) {
            std::vector<std::string> fields{fmt::format("guid: {}", to_string(port.guid)),
                                            fmt::format("port: {}", port.number)};
            if (port.node_guid.value != 0) {
                fields.push_back(fmt::format("node-guid: {}", to_string(port.node_guid)));
            }
            if (port.type) {
                fields.push_back(fmt::format("type: {}", to_string(*port.type)));
            }
            if (!port.description.empty()) {
                fields.push_back(fmt::format("description: {}", yaml_quoted(port.description)));
            }
            if (input_.subnet_manager == port.guid) {
                fields.emplace_back("sm: true");
            }
            if (port.lids) {
                fields.push_back(fmt::format("lid: {}", port.lids->base.value));
            }
            if (port.lids && port.lids->lmc != 0) {
                fields.push_back(fmt::format("lmc: {}", port.lids->lmc));
            }
            if (port.rate) {
                fields.push_back(fmt::format("rate: {}", in_yaml(*port.rate)));
            }
            write_port(std::move(fields), port.pkeys);
        }
    }

    // On one line, or one below the other: a reader takes the whole of "{...}" at once, which is bounded.
    void write_port(std::vector<std::string> fields, const std::vector<std::uint16_t>& pkeys)
    {
        constexpr std::size_t kIndent = 4;
        yaml_.begin_entry();
        if (pkeys.size() <= kMostOnOneLine) {
            if (!pkeys.empty()) {
                fields.push_back(fmt::format("pkeys: [{:#06x}]", fmt::join(pkeys, ", ")));
            }
            yaml_.line(kIndent, fmt::format("{{{}}}", fmt::join(fields, ", ")));
            return;
        }
        for (const std::string& field : fields) {
            yaml_.line(kIndent, field);
        }
        std::vector<std::string> items;
        items.reserve(pkeys.size());
        for (const std::uint16_t pkey : pkeys) {
            items.push_back(fmt::format("{:#06x}", pkey));
        }
        yaml_.list(kIndent, "pkeys", items);
    }

    void write_partitions()
    {
        yaml_.blank();
        yaml_.line(0, "partitions:");
        choose_names();
        for (std::size_t i = 0; i < order_.size(); ++i) {
            write_partition(*order_[i], members_[i]);
        }
    }

    // A fabric file has every name once. Of several partitions with one name OpenSM finds the first in its table:
    // that one keeps the name.
    void choose_names()
    {
        std::vector<const ConfiguredPartition*> by_table = order_;
        std::sort(by_table.begin(), by_table.end(),
                  [](const auto* a, const auto* b) { return opensm_order(a->pkey) < opensm_order(b->pkey); });
        std::unordered_set<std::string> taken;
        for (const auto* partition : by_table) {
            if (is_name(partition->name)) {
                taken.insert(partition->name);
            }
        }
        std::unordered_set<std::string> given;
        for (const auto* partition : by_table) {
            std::string name = partition->name;
            if (!is_name(name) || given.contains(name)) {
                name = fmt::format("partition-{:04x}", partition->pkey);
                while (taken.contains(name)) {
                    name += '-';
                }
            }
            taken.insert(name);
            given.insert(name);
            names_by_pkey_.emplace(partition->pkey, std::move(name));
        }
    }

    static bool is_name(std::string_view name)
    {
        return !name.empty() && name.size() <= reader::kLongestName && is_valid_utf8(name) && name.front() != ' ' &&
               name.back() != ' ' && std::none_of(name.begin(), name.end(), [](char c) {
                   const auto byte = static_cast<unsigned char>(c);
                   return byte < 0x20 || byte == 0x7F;
               });
    }

    void write_partition(const ConfiguredPartition& partition, const Members& members)
    {
        constexpr std::size_t kIndent = 2;
        const std::string& name = names_by_pkey_.at(partition.pkey);
        if (name != partition.name) {
            yaml_.comment(kIndent,
                          fmt::format("\"{}\" of OpenSM: {}", partition.name,
                                      is_name(partition.name) ? "another partition has this name, and is the one found"
                                                              : "no name that a fabric file can hold"));
        }
        if (members.ports.empty() && discovery_ != nullptr) {
            yaml_.comment(kIndent, "no port that is here is a member: to OpenSM the partition is not there");
        }
        if (members.unknown_count != 0 && discovery_ != nullptr) {
            std::string examples;
            for (const std::uint64_t guid : members.unknown) {
                examples += fmt::format("{}{}", examples.empty() ? "" : ", ", to_string(Guid{guid}));
            }
            yaml_.comment(kIndent,
                          fmt::format("not in the discovery: {}{}", examples,
                                      members.unknown_count > members.unknown.size()
                                          ? fmt::format(" and {} more", members.unknown_count - members.unknown.size())
                                          : ""));
        }
        if (members.needs_subnet_manager) {
            yaml_.comment(
                kIndent,
                fmt::format("SELF, the port of the subnet manager, is a {} member: say which with --sm GUID",
                            partition.subnet_manager->membership == PartitionMembership::Limited ? "limited" : "full"));
        }
        if (!partition.no_broadcast.empty()) {
            yaml_.comment(kIndent, fmt::format("OpenSM makes no broadcast group: {}", partition.no_broadcast));
        }
        for (const auto& remark : partition.remarks) {
            yaml_.comment(kIndent, fmt::format("not carried over: {}", remark));
        }
        yaml_.begin_entry();
        yaml_.line(kIndent + 2, fmt::format("name: {}", yaml_scalar(name)));
        yaml_.line(kIndent + 2, fmt::format("pkey: {:#06x}", partition.pkey));
        if (partition.broadcast) {
            write_broadcast(*partition.broadcast);
        }
    }

    void write_broadcast(const BroadcastGroup& group)
    {
        std::string text;
        const auto add = [&text](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
        const IpoibParameters& parameters = group.parameters;
        add(fmt::format("sl: {}", parameters.sl.value_or(0)));
        if (parameters.mtu) {
            add(fmt::format("mtu: {}", bytes(*parameters.mtu)));
        }
        if (parameters.rate) {
            add(fmt::format("rate: {}", in_yaml(*parameters.rate)));
        }
        // Without QoS OpenSM overrides what the file says.
        const std::string_view without_qos = parameters.sl.value_or(0) != 0
                                                 ? "; the SL is 0 unless OpenSM runs with `qos TRUE`"
                                                 : "";
        yaml_.line(4, fmt::format("ipoib: {{{}}}    # {}{}", text,
                                  group.stated.empty() ? "OpenSM's defaults" : fmt::format("stated: {}", group.stated),
                                  without_qos));
    }

    const FabricImport& input_;
    const IbnetdiscoverReport* discovery_;
    const PartitionTable& partitions_;
    const NodeNameMap& names_;
    Diagnostics& diagnostics_;
    std::vector<Port> ports_;
    std::unordered_map<std::uint64_t, std::size_t> by_guid_;
    std::array<std::vector<std::size_t>, 3> by_type_;    // indexes into ports_
    std::vector<const ConfiguredPartition*> order_;      // by P_Key
    std::vector<Members> members_;                       // as order_
    std::unordered_map<std::uint16_t, std::string> names_by_pkey_;
    YamlLines yaml_;
};

// The value of a file that may not be given; its diagnostics go to `diagnostics`.
template <typename T, typename Read>
std::shared_ptr<const T> read_if_given(const std::shared_ptr<const SourceFile>& source, T otherwise, Read read,
                                       Diagnostics& diagnostics)
{
    if (!source) {
        return std::make_shared<const T>(std::move(otherwise));
    }
    auto result = read(source);
    diagnostics.append(std::move(result.diagnostics));
    return result.value;
}

}    // namespace

ReadResult<std::string> import_fabric(const FabricImport& input)
{
    ReadResult<std::string> result;
    Diagnostics& diagnostics = result.diagnostics;
    const auto discovery = read_if_given(input.discovery, IbnetdiscoverReport{}, read_ibnetdiscover, diagnostics);
    const auto partitions = read_if_given(input.partitions, default_partitions(), read_partitions, diagnostics);
    const auto names = read_if_given(input.node_names, NodeNameMap{}, read_node_name_map, diagnostics);
    if (!discovery || !partitions || !names) {
        return result;
    }
    std::string text =
        FabricWriter(input, input.discovery ? discovery.get() : nullptr, *partitions, *names, diagnostics).write();
    if (!diagnostics.has_errors()) {
        result.value = std::make_shared<const std::string>(std::move(text));
    }
    return result;
}

}    // namespace rdmaqos
