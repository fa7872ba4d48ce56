#include "policy/yaml/fabric_reader.h"

#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "policy/keys/choices.h"
#include "policy/keys/objects.h"
#include "policy/model/lid_table.h"
#include "policy/yaml/file_reader.h"
#include "policy/yaml/ib_fields.h"

namespace rdmaqos {
namespace {

using namespace reader;

std::optional<LidRange> read_lids(Context& context, const Mapping& mapping)
{
    const auto base = mapping.find("lid");
    const auto mask = mapping.find("lmc");
    const auto lid = base ? read_integer<std::uint16_t>(context, *base) : std::nullopt;
    const auto lmc = mask ? read_integer<std::uint8_t>(context, *mask) : std::optional<std::uint8_t>(0);
    if (mask && !base) {
        context.error(*mask->value, "`lmc` needs a `lid`");
    }
    if (!lid || !lmc) {
        return std::nullopt;
    }
    const LidRange lids{{*lid}, *lmc};
    if (!lids.is_aligned()) {
        context.error(*base->value,
                      fmt::format("`lid` {} is no multiple of {}, as `lmc` {} asks", *lid, 1U << *lmc, *lmc));
        context.note(context.locate(*mask->value), "`lmc` is given here");
        return std::nullopt;
    }
    return lids;
}

FabricPort read_port(Context& context, const Node& entry)
{
    FabricPort port;
    const Mapping mapping(context, entry, keys::kFabricPort);
    if (!mapping.is_valid()) {
        return port;
    }
    if (const auto field = mapping.find("guid")) {
        port.guid = read_guid(context, *field).value_or(Guid{});
    } else {
        context.error(entry, "a port needs a `guid`");
    }
    if (const auto field = mapping.find("port")) {
        port.port = read_integer<std::uint32_t>(context, *field).value_or(1);
    }
    if (const auto field = mapping.find("node-guid")) {
        port.node_guid = read_guid(context, *field).value_or(Guid{});
    }
    if (const auto field = mapping.find("type")) {
        port.type = read_choice(context, *field, keys::kNodeTypes).value_or(NodeType::Ca);
    }
    if (const auto field = mapping.find("description")) {
        port.description = read_description(context, *field);
    }
    if (const auto field = mapping.find("pkeys")) {
        for (const Field& item : read_items(context, *field)) {
            if (const auto pkey = read_integer<std::uint16_t>(context, item)) {
                port.pkeys.push_back(*pkey);
            }
        }
    }
    if (const auto field = mapping.find("sm")) {
        port.subnet_manager = read_bool(context, *field).value_or(false);
    }
    port.lids = read_lids(context, mapping);
    if (const auto field = mapping.find("rate")) {
        port.rate = read_ib_rate(context, *field);
    }
    if (const auto field = mapping.find("mtu")) {
        port.mtu = read_ib_mtu(context, *field);
    }
    return port;
}

IpoibParameters read_ipoib(Context& context, const Field& field)
{
    IpoibParameters parameters;
    const Mapping mapping(context, *field.value, keys::kIpoib);
    if (const auto sl = mapping.find("sl")) {
        parameters.sl = read_integer<std::uint8_t>(context, *sl);
    }
    if (const auto mtu = mapping.find("mtu")) {
        parameters.mtu = read_ib_mtu(context, *mtu);
    }
    if (const auto rate = mapping.find("rate")) {
        parameters.rate = read_ib_rate(context, *rate);
    }
    if (const auto life = mapping.find("packet-life")) {
        parameters.packet_life = read_packet_life(context, *life);
    }
    return parameters;
}

FabricPartition read_partition(Context& context, const Node& entry)
{
    FabricPartition partition;
    const Mapping mapping(context, entry, keys::kFabricPartition);
    if (!mapping.is_valid()) {
        return partition;
    }
    if (const auto field = mapping.find("name")) {
        partition.name = read_name(context, *field).value_or("");
    } else {
        context.error(entry, "a partition needs a `name`");
    }
    if (const auto field = mapping.find("pkey")) {
        partition.pkey = partition_of(read_integer<std::uint16_t>(context, *field).value_or(0));
    } else {
        context.error(entry, "a partition needs a `pkey`");
    }
    if (const auto field = mapping.find("ipoib")) {
        partition.ipoib = read_ipoib(context, *field);
    }
    return partition;
}

// Calls `add` for every entry of the list below `key`.
template <typename Add>
void for_each_entry(Context& context, const Mapping& document, std::string_view key, Add add)
{
    const auto field = document.find(key);
    if (!field || field->value->has_no_value() || !check_list(context, *field)) {
        return;
    }
    for (const Node& entry : field->value->children) {
        add(entry);
    }
}

// Tells of LIDs that two ports have, and of ports that have two.
class LidCheck {
public:
    void check(Context& context, const Node& entry, const FabricPort& port)
    {
        if (!port.lids) {
            return;
        }
        const Node& place = *find_value(entry, "lid");
        const auto [own, is_new] = given_.emplace(port.guid.value, Given{*port.lids, &place});
        if (!is_new && own->second.lids != *port.lids) {
            tell(context, place,
                 fmt::format("port {} already has {}", to_string(port.guid), in_words(own->second.lids)), own->second);
        } else if (const auto other = table_.add(*port.lids, port.guid)) {
            const Given& there = given_.at(other->value);
            tell(context, place,
                 fmt::format("{}: port {} already has {}", in_words(*port.lids), to_string(*other),
                             in_words(there.lids)),
                 there);
        }
    }

private:
    struct Given {
        LidRange lids;
        const Node* place;
    };

    static void tell(Context& context, const Node& place, std::string message, const Given& before)
    {
        context.error(place, std::move(message));
        context.note(context.locate(*before.place), "given here");
    }

    LidTable table_;
    std::unordered_map<std::uint64_t, Given> given_;    // by GUID
};

std::uint16_t read_valid_sls(Context& context, const Field& vl15)
{
    unsigned valid = 0xFFFF;
    for (const Field& item : read_items(context, vl15)) {
        if (const auto sl = read_integer<std::uint8_t>(context, item)) {
            valid &= ~(1U << *sl);
        }
    }
    return static_cast<std::uint16_t>(valid);
}

Fabric read_fabric_document(Context& context, const Node& document)
{
    Fabric fabric;
    const Mapping mapping(context, document, keys::kFabric);
    if (const auto field = mapping.find("vl15-sls")) {
        fabric.valid_sl_mask = read_valid_sls(context, *field);
    }
    std::unordered_map<std::uint64_t, const Node*> guids;
    LidCheck lids;
    for_each_entry(context, mapping, "ports", [&](const Node& entry) {
        FabricPort port = read_port(context, entry);
        if (port.guid.value != 0) {
            const auto [first, inserted] = guids.emplace(port.guid.value, &entry);
            // The ports of a switch share its GUID.
            if (!inserted && port.type != NodeType::Switch) {
                context.error(entry, fmt::format("port {} is listed twice", to_string(port.guid)));
                context.note(context.locate(*first->second), "it is first listed here");
            } else {
                lids.check(context, entry, port);
            }
        }
        fabric.ports.push_back(std::move(port));
    });
    std::unordered_map<std::string, const Node*> names;
    for_each_entry(context, mapping, "partitions", [&](const Node& entry) {
        FabricPartition partition = read_partition(context, entry);
        const auto [first, inserted] = names.emplace(partition.name, &entry);
        if (!inserted && !partition.name.empty()) {
            context.error(entry, fmt::format("partition `{}` is listed twice", partition.name));
            context.note(context.locate(*first->second), "it is first listed here");
        }
        fabric.partitions.push_back(std::move(partition));
    });
    return fabric;
}

}    // namespace

ReadResult<Fabric> read_fabric(std::shared_ptr<const SourceFile> source)
{
    return read_single<Fabric>(std::move(source), read_fabric_document);
}

ReadResult<Fabric> read_fabric(const std::filesystem::path& path)
{
    return read_optional_file<Fabric>(path, read_fabric_document);
}

}    // namespace rdmaqos
