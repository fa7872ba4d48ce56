#include "daemon/device_switches.h"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "daemon/state_file.h"

namespace rdmaqos {
namespace {

using Json = nlohmann::json;

constexpr StateFile kFile{"/var/lib/rdma-qos/disabled-devices.json", "devices", "a list of disabled devices",
                          std::size_t{1024} * 1024};

Json to_json(const DeviceId& id, const DeviceNames& names)
{
    return {{"node-guid", to_string(id.node_guid)},
            {"port", id.port},
            {"device", names.device},
            {"netdev", names.netdev},
            {"pci-address", names.pci_address}};
}

// "0x0010000000000001"
std::optional<Guid> parse_guid(const std::string& text)
{
    Guid guid;
    if (!text.starts_with("0x")) {
        return std::nullopt;
    }
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + 2, end, guid.value, 16);
    return read.ec == std::errc() && read.ptr == end ? std::optional(guid) : std::nullopt;
}

std::string text_of(const Json& entry, const char* key)
{
    const auto found = entry.find(key);
    return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::optional<std::pair<DeviceId, DeviceNames>> from_json(const Json& entry)
{
    if (!entry.is_object()) {
        return std::nullopt;
    }
    const auto guid = parse_guid(text_of(entry, "node-guid"));
    const auto port = entry.find("port");
    if (!guid || port == entry.end() || !port->is_number_unsigned()) {
        return std::nullopt;
    }
    const auto number = port->get<std::uint32_t>();
    return std::pair(DeviceId{*guid, number}, DeviceNames{text_of(entry, "device"), number, text_of(entry, "netdev"),
                                                          text_of(entry, "pci-address")});
}

}    // namespace

DeviceId id_of(const DeviceInfo& info)
{
    return {info.node_guid, info.port};
}

DeviceNames names_of(const DeviceInfo& info)
{
    return {info.name, info.port, info.netdev, info.pci_address};
}

std::string key_of(const DeviceNames& names)
{
    return fmt::format("{}/{}", names.device, names.port);
}

bool has_name(const DeviceNames& names, const std::string& name)
{
    return !name.empty() &&
           (name == key_of(names) || name == names.device || name == names.netdev || name == names.pci_address);
}

Result<void> save_disabled(const std::filesystem::path& root, const SwitchedOff& disabled)
{
    auto devices = Json::array();
    for (const auto& [id, names] : disabled) {
        devices.push_back(to_json(id, names));
    }
    return save_state(root, kFile, devices);
}

Result<SwitchedOff> load_disabled(const std::filesystem::path& root)
{
    const auto devices = load_state(root, kFile);
    if (!devices) {
        return fail(devices.error());
    }
    SwitchedOff disabled;
    for (const auto& entry : *devices) {
        auto device = from_json(entry);
        if (!device) {
            return fail(damaged_state(root, kFile));
        }
        disabled.insert(std::move(*device));
    }
    return disabled;
}

}    // namespace rdmaqos
