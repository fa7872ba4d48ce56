#include "daemon/service/device_table.h"

#include <utility>

#include <fmt/format.h>

#include "daemon/device/device_names.h"
#include "lib/base/text.h"
#include "lib/base/try.h"

namespace rdmaqos {
namespace {

PathPort path_port(const DeviceInfo& info)
{
    return {info.name, info.port, info.port_guid, info.gids, info.pkeys, info.link_speed, info.mtu};
}

}    // namespace

ManagedDevice* DeviceTable::find(const std::string& key) const
{
    const auto found = devices_.find(key);
    return found == devices_.end() ? nullptr : found->second.get();
}

Result<std::vector<ManagedDevice*>> DeviceTable::named(const std::string& name) const
{
    std::vector<ManagedDevice*> found;
    for (const auto& [key, device] : devices_) {
        if (name.empty() || has_name(names_of(device->info()), name)) {
            found.push_back(device.get());
        }
    }
    if (found.empty() && !name.empty()) {
        return fail(ErrorCode::UnknownDevice, unknown(name));
    }
    return found;
}

Result<ManagedDevice*> DeviceTable::one_named(const std::string& name) const
{
    if (name.empty()) {
        return fail(ErrorCode::InvalidArgument, "`device` is missing");
    }
    const auto found = TRY(named(name));
    if (found.size() > 1) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("`{}` has several ports; say which, as in `{}`", name, found.front()->key()));
    }
    return found.front();
}

std::string DeviceTable::unknown(const std::string& name) const
{
    std::string known;
    const auto add = [&](const std::string& key, std::string_view remark) {
        known += fmt::format("{}{}{}", known.empty() ? "" : ", ", key, remark);
    };
    for (const auto& [key, device] : devices_) {
        add(key, "");
    }
    for (const auto& [id, names] : released) {
        add(key_of(names), " (released)");
    }
    for (const auto& [id, device] : refused) {
        add(key_of(device.names), fmt::format(" (not managed: {})", device.why));
    }
    for (const auto& [id, names] : disabled) {
        if (!devices_.contains(key_of(names)) && !released.contains(id)) {
            add(key_of(names), " (disabled, not present)");
        }
    }
    const std::string shown = shortened(printable(name), kLongestShown);
    return known.empty() ? fmt::format("there is no device `{}`: no RDMA device is present", shown)
                         : fmt::format("there is no device `{}`; there are {}", shown, known);
}

ManagedDevice& DeviceTable::add(std::unique_ptr<ManagedDevice> device)
{
    const std::string key = device->key();
    ++changes_;
    return *devices_.emplace(key, std::move(device)).first->second;
}

std::unique_ptr<ManagedDevice> DeviceTable::take(const std::string& key)
{
    auto node = devices_.extract(key);
    if (node.empty()) {
        return nullptr;
    }
    ++changes_;
    return std::move(node.mapped());
}

std::vector<std::string> DeviceTable::keys() const
{
    std::vector<std::string> keys;
    for (const auto& [key, device] : devices_) {
        keys.push_back(key);
    }
    return keys;
}

std::optional<DeviceStatus> DeviceTable::status(const std::string& key) const
{
    const ManagedDevice* device = find(key);
    return device == nullptr ? std::nullopt : std::optional(device->status());
}

Result<std::string> DeviceTable::find_key(const std::string& name) const
{
    const auto device = one_named(name);
    if (!device) {
        for (const auto& [key, names] : closing) {
            if (has_name(names, name)) {
                return fail(ErrorCode::Busy, fmt::format("{} is being released", key));
            }
        }
        return fail(device.error());
    }
    return (*device)->key();
}

Result<DeviceNames> DeviceTable::find_names(const std::string& name) const
{
    const ManagedDevice* device = TRY(one_named(name));
    return names_of(device->info());
}

std::vector<std::string> DeviceTable::silent() const
{
    std::vector<std::string> silent;
    for (const auto& [key, device] : devices_) {
        if (device->is_silent()) {
            silent.push_back(key);
        }
    }
    return silent;
}

std::map<std::string, WorkerPulse> DeviceTable::pulses() const
{
    std::map<std::string, WorkerPulse> pulses;
    for (const auto& [key, device] : devices_) {
        pulses.emplace(key, device->pulse());
    }
    return pulses;
}

std::vector<std::string> DeviceTable::released_keys() const
{
    std::vector<std::string> keys;
    for (const auto& [id, names] : released) {
        keys.push_back(key_of(names));
    }
    return keys;
}

std::vector<RefusedDevice> DeviceTable::all_refused() const
{
    std::vector<RefusedDevice> all;
    for (const auto& [id, device] : refused) {
        all.push_back(device);
    }
    return all;
}

std::vector<LocalPort> DeviceTable::local_ports() const
{
    std::vector<LocalPort> local;
    for (const auto& [key, device] : devices_) {
        const DeviceInfo& info = device->info();
        local.push_back({info.port_guid, info.node_guid, info.port, info.gids, info.pkeys, info.node_description});
    }
    return local;
}

PathLimits DeviceTable::path_limits(const Request& request, const Fabric& fabric) const
{
    std::vector<PathPort> ports;
    ports.reserve(devices_.size());
    for (const auto& [key, device] : devices_) {
        ports.push_back(path_port(device->info()));
    }
    return rdmaqos::path_limits(request, ports, fabric);
}

DeviceReconcile unanswered(const std::string& key)
{
    const Error error{ErrorCode::Timeout, 0,
                      fmt::format("{} has not answered for {} s; what it was told is done when it answers", key,
                                  kPatienceWithDevices.count())};
    return {key, 0, {{ElementPath("/"), "query", error, 1}}};
}

}    // namespace rdmaqos
