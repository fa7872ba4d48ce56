#include "policy/yaml/simulation_reader.h"

#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "lib/base/hash.h"
#include "policy/keys/choices.h"
#include "policy/keys/objects.h"
#include "policy/model/ib.h"
#include "policy/yaml/file_reader.h"

namespace rdmaqos {
namespace {

using namespace reader;

constexpr Bandwidth kDefaultSpeed = Bandwidth::from_gbps(100);
constexpr Bandwidth kLowestTraffic = Bandwidth::from_kbps(1);
constexpr Bandwidth kLowestPacing = Bandwidth::from_kbps(1);

std::set<QueuePairType> read_types(Context& context, const Field& field)
{
    std::set<QueuePairType> types;
    // Unlike elsewhere an empty list is fine: none.
    if (field.value->is_sequence() && field.value->children.empty()) {
        return types;
    }
    for (const Field& item : read_items(context, field)) {
        if (const auto type = read_choice(context, item, keys::kQueuePairTypes)) {
            types.insert(*type);
        }
    }
    return types;
}

void set_flag(Context& context, const Mapping& mapping, std::string_view key, bool& flag)
{
    if (const auto field = mapping.find(key)) {
        flag = read_bool(context, *field).value_or(flag);
    }
}

void set_count(Context& context, const Mapping& mapping, std::string_view key, std::uint32_t& count)
{
    if (const auto field = mapping.find(key)) {
        count = read_integer<std::uint32_t>(context, *field).value_or(count);
    }
}

void read_pacing(Context& context, const Field& field, PacingCapabilities& pacing)
{
    const Mapping mapping(context, *field.value, keys::kPacing);
    if (const auto types = mapping.find("types")) {
        pacing.supported_types = read_types(context, *types);
    }
    if (const auto rate = mapping.find("min-rate")) {
        pacing.min_rate = read_rate(context, *rate, kLowestPacing);
    }
    if (const auto rate = mapping.find("max-rate")) {
        pacing.max_rate = read_rate(context, *rate, kLowestPacing);
    }
    set_count(context, mapping, "table-size", pacing.table_size);
    set_flag(context, mapping, "burst", pacing.burst);
    set_flag(context, mapping, "typical-packet", pacing.typical_packet);
}

void read_capabilities(Context& context, const Field& field, Capabilities& capabilities)
{
    const Mapping mapping(context, *field.value, keys::kCapabilities);
    set_flag(context, mapping, "scheduling", capabilities.scheduling);
    set_flag(context, mapping, "shares", capabilities.shares);
    set_flag(context, mapping, "rate-caps", capabilities.rate_caps);
    set_flag(context, mapping, "responder-leaf", capabilities.responder_leaf);
    set_count(context, mapping, "max-depth", capabilities.max_depth);
    set_count(context, mapping, "max-leaves", capabilities.max_leaves);
    set_count(context, mapping, "max-elements", capabilities.max_elements);
    set_count(context, mapping, "max-share", capabilities.max_share);
    if (const auto types = mapping.find("attachable")) {
        capabilities.attachable = read_types(context, *types);
    }
    if (const auto pacing = mapping.find("pacing")) {
        read_pacing(context, *pacing, capabilities.pacing);
    }
}

void read_addresses(Context& context, const Mapping& mapping, SimulatedDevice& device)
{
    if (const auto field = mapping.find("node-guid")) {
        device.node_guid = read_guid(context, *field).value_or(Guid{});
    } else {
        // Locally administered, the same for every port of the device, the same in every run.
        constexpr std::uint64_t kLocal = 0x0200'0000'0000'0000;
        constexpr std::uint64_t kHashed = 0x00FF'FFFF'FFFF'FF00;
        device.node_guid = Guid{kLocal | (fnv1a(device.name) & kHashed)};
    }
    if (const auto field = mapping.find("port-guid")) {
        device.port_guid = read_guid(context, *field).value_or(Guid{});
    } else {
        device.port_guid = Guid{device.node_guid.value + device.port};
    }
    if (const auto field = mapping.find("gids")) {
        for (const Field& item : read_items(context, *field)) {
            if (const auto gid = parse_gid(item.value->text)) {
                device.gids.push_back(*gid);
            } else {
                context.error(*item.value, fmt::format("`{}` is not a GID", item.value->text),
                              "write an IPv6 or IPv4 address");
            }
        }
    }
    device.pkeys = {0xFFFF};
    if (const auto field = mapping.find("pkeys")) {
        device.pkeys.clear();
        for (const Field& item : read_items(context, *field)) {
            if (const auto pkey = read_integer<std::uint16_t>(context, item)) {
                device.pkeys.push_back(*pkey);
            }
        }
    }
}

void read_link(Context& context, const Mapping& mapping, SimulatedDevice& device)
{
    if (const auto field = mapping.find("link-layer")) {
        device.infiniband = read_choice(context, *field, keys::kSimulatedLinkLayers).value_or(false);
    }
    device.link_speed = kDefaultSpeed;
    if (const auto field = mapping.find("link-speed")) {
        device.link_speed = read_rate(context, *field).value_or(kDefaultSpeed);
    }
    if (const auto field = mapping.find("mtu")) {
        const auto mtu = read_size(context, *field);
        if (mtu && !ib_mtu_from_bytes(*mtu)) {
            context.error(*field->value, fmt::format("`mtu` cannot be {}", *mtu), "it is 256, 512, 1024, 2048 or 4096");
        }
        device.mtu = static_cast<std::uint32_t>(mtu.value_or(device.mtu));
    }
}

std::optional<Bandwidth> read_traffic_rate(Context& context, const Field& field, const Mapping& device_mapping,
                                           Bandwidth link_speed)
{
    const auto rate = read_rate(context, field, kLowestTraffic);
    if (rate && *rate > link_speed) {
        context.error(*field.value, fmt::format("`{}` is more than the link's {}", field.key, to_string(link_speed)));
        if (const auto link = device_mapping.find("link-speed")) {
            context.note(context.locate(*link->value), "`link-speed` is given here");
        }
        return std::nullopt;
    }
    return rate;
}

// A rate: what is transmitted; or both directions.
void read_traffic(Context& context, const Field& field, const Mapping& device_mapping, SimulatedDevice& device)
{
    const auto read = [&](const Field& rate) {
        return read_traffic_rate(context, rate, device_mapping, device.link_speed).value_or(Bandwidth{});
    };
    if (!field.value->is_mapping()) {
        device.transmit_traffic = read(field);
        return;
    }
    const Mapping mapping(context, *field.value, keys::kTraffic);
    if (const auto rate = mapping.find("transmit")) {
        device.transmit_traffic = read(*rate);
    }
    if (const auto rate = mapping.find("receive")) {
        device.receive_traffic = read(*rate);
    }
}

void refuse_slash(Context& context, const Field& field, const std::string& name)
{
    if (name.find('/') != std::string::npos) {
        context.error(*field.value, fmt::format("the name `{}` contains a `/`", name));
    }
}

// Where the port is in the machine.
void read_functions(Context& context, const Mapping& mapping, SimulatedDevice& device)
{
    const std::array<std::pair<std::string_view, std::string*>, 3> texts{
        {{"netdev", &device.netdev}, {"bond", &device.bond}, {"pci", &device.pci_address}}};
    for (const auto& [key, text] : texts) {
        if (const auto field = mapping.find(key)) {
            *text = read_name(context, *field).value_or("");
        }
    }
    if (const auto bond = mapping.find("bond")) {
        refuse_slash(context, *bond, device.bond);
        if (!mapping.find("netdev")) {
            context.error(*bond->value, "`bond` needs a `netdev`", "it is the netdev that belongs to the bond");
        }
    }
    set_flag(context, mapping, "virtual-function", device.virtual_function);
}

SimulatedDevice read_device(Context& context, const Node& entry, const Capabilities& capabilities)
{
    SimulatedDevice device;
    device.capabilities = capabilities;
    const Mapping mapping(context, entry, keys::kDevice);
    if (!mapping.is_valid()) {
        return device;
    }
    if (const auto field = mapping.find("name")) {
        device.name = read_name(context, *field).value_or("");
        refuse_slash(context, *field, device.name);
    } else {
        context.error(entry, "a device needs a `name`");
    }
    if (const auto field = mapping.find("port")) {
        device.port = read_integer<std::uint32_t>(context, *field).value_or(1);
    }
    read_link(context, mapping, device);
    read_addresses(context, mapping, device);
    read_functions(context, mapping, device);
    if (const auto field = mapping.find("description")) {
        device.node_description = read_description(context, *field);
    }
    if (const auto field = mapping.find("traffic")) {
        read_traffic(context, *field, mapping, device);
    }
    set_flag(context, mapping, "port-counters", device.port_counters);
    if (const auto field = mapping.find("capabilities")) {
        read_capabilities(context, *field, device.capabilities);
    }
    return device;
}

std::vector<SimulatedDevice> read_devices(Context& context, const Node& document, const Capabilities& capabilities)
{
    std::vector<SimulatedDevice> devices;
    const Mapping mapping(context, document, keys::kDevices);
    const auto list = mapping.find("devices");
    if (!list || list->value->has_no_value() || !check_list(context, *list)) {
        return devices;
    }
    std::unordered_map<std::string, const Node*> seen;
    for (const Node& entry : list->value->children) {
        SimulatedDevice device = read_device(context, entry, capabilities);
        const auto [first, inserted] = seen.emplace(fmt::format("{}/{}", device.name, device.port), &entry);
        if (!inserted && !device.name.empty()) {
            context.error(entry, fmt::format("port {} of `{}` is listed twice", device.port, device.name));
            context.note(context.locate(*first->second), "it is first listed here");
        }
        devices.push_back(std::move(device));
    }
    return devices;
}

}    // namespace

ReadResult<std::vector<SimulatedDevice>> read_simulation(std::shared_ptr<const SourceFile> source,
                                                         const Capabilities& default_capabilities)
{
    return read_single<std::vector<SimulatedDevice>>(std::move(source), [&](Context& context, const Node& document) {
        return read_devices(context, document, default_capabilities);
    });
}

ReadResult<std::vector<SimulatedDevice>> read_simulation(const std::filesystem::path& path,
                                                         const Capabilities& default_capabilities)
{
    return read_file<std::vector<SimulatedDevice>>(path, [&](Context& context, const Node& document) {
        return read_devices(context, document, default_capabilities);
    });
}

}    // namespace rdmaqos
