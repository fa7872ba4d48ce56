#include "daemon/service/device_switches.h"

#include <charconv>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "daemon/service/state_file.h"
#include "lib/base/text.h"
#include "lib/base/try.h"

namespace rdmaqos {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t{1024} * 1024;
constexpr StateFile kDisabledDevices{kDisabledFile, "devices", "a list of disabled devices", kMostBytes};
constexpr StateFile kReleasedDevices{kReleasedFile, "devices", "a list of released devices", kMostBytes};

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

// Or what is wrong with it.
tl::expected<std::pair<DeviceId, DeviceNames>, std::string> from_json(const Json& entry)
{
    if (!entry.is_object()) {
        return tl::unexpected(std::string("is not an object"));
    }
    const auto guid = parse_guid(text_of(entry, "node-guid"));
    if (!guid) {
        return tl::unexpected(std::string("`node-guid` must be a text like \"0x0010000000000001\""));
    }
    constexpr auto kHighest = std::numeric_limits<std::uint32_t>::max();
    const auto port = entry.find("port");
    const auto number = port != entry.end() && port->is_number_unsigned() ? port->get<std::uint64_t>() : 0;
    if (number == 0 || number > kHighest) {
        return tl::unexpected(fmt::format("`port` must be a number from 1 to {}{}", kHighest,
                                          port != entry.end() ? ", not " + shortened(port->dump(), 40) : ""));
    }
    const auto id = DeviceId{*guid, static_cast<std::uint32_t>(number)};
    return std::pair(
        id, DeviceNames{text_of(entry, "device"), id.port, text_of(entry, "netdev"), text_of(entry, "pci-address")});
}

Result<void> save(const std::filesystem::path& root, const StateFile& file, const SwitchedOff& off)
{
    auto devices = Json::array();
    for (const auto& [id, names] : off) {
        devices.push_back(to_json(id, names));
    }
    return save_state(root, file, devices);
}

Result<SwitchedOff> load(const std::filesystem::path& root, const StateFile& file)
{
    const auto devices = TRY(load_state(root, file));
    SwitchedOff off;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        auto device = from_json(devices[i]);
        if (!device) {
            return fail(damaged_state(root, file, i, device.error()));
        }
        off.insert(std::move(*device));
    }
    return off;
}

}    // namespace

DeviceId id_of(const DeviceInfo& info)
{
    return {info.node_guid, info.port};
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
    return save(root, kDisabledDevices, disabled);
}

Result<void> save_released(const std::filesystem::path& root, const SwitchedOff& released)
{
    return save(root, kReleasedDevices, released);
}

Result<SwitchedOff> load_disabled(const std::filesystem::path& root)
{
    return load(root, kDisabledDevices);
}

Result<SwitchedOff> load_released(const std::filesystem::path& root)
{
    return load(root, kReleasedDevices);
}

}    // namespace rdmaqos
