#include "daemon/simulation.h"

#include <fmt/format.h>

#include "lib/base/log.h"
#include "lib/model/profile.h"
#include "lib/nic_model/model_backend.h"
#include "policy/yaml/simulation_reader.h"

namespace rdmaqos {
namespace {

DeviceInfo to_info(const SimulatedDevice& device)
{
    DeviceInfo info;
    info.name = device.name;
    info.port = device.port;
    info.node_guid = device.node_guid;
    info.port_guid = device.port_guid;
    info.netdev = device.netdev;
    info.pci_address = device.pci_address;
    info.driver = "model";
    info.link_layer = device.infiniband ? LinkLayer::InfiniBand : LinkLayer::Ethernet;
    info.link_speed = device.link_speed;
    info.mtu = device.mtu;
    info.gids = device.gids;
    info.pkeys = device.pkeys;
    info.node_description = device.node_description;
    return info;
}

}    // namespace

Result<std::vector<std::unique_ptr<Backend>>> simulated_devices(const std::filesystem::path& file, const Clock& clock)
{
    const auto read = read_simulation(file, default_capabilities());
    if (!read.value) {
        return fail(ErrorCode::InvalidArgument, render(read.diagnostics, Colour::Off));
    }
    if (!read.diagnostics.empty()) {
        log(LogLevel::Warning, "{}", render(read.diagnostics, Colour::Off));
    }
    std::vector<std::unique_ptr<Backend>> devices;
    for (const auto& device : *read.value) {
        auto backend = std::make_unique<ModelBackend>(to_info(device), device.capabilities);
        backend->carry({device.transmit_traffic, device.receive_traffic}, clock);
        if (!device.port_counters) {
            backend->withhold_counters();
        }
        devices.push_back(std::move(backend));
    }
    return devices;
}

Result<std::unique_ptr<Backend>> simulated_device(const std::filesystem::path& file, const Clock& clock, Guid node_guid,
                                                  std::uint32_t port)
{
    auto devices = simulated_devices(file, clock);
    if (!devices) {
        log(LogLevel::Error, "{}", to_string(devices.error()));
        return fail(devices.error().code, fmt::format("{} can no longer be read", file.string()));
    }
    for (auto& device : *devices) {
        const DeviceInfo info = device->info();
        if (info.node_guid == node_guid && info.port == port) {
            return std::move(device);
        }
    }
    return fail(ErrorCode::UnknownDevice, fmt::format("{} no longer lists it", file.string()));
}

}    // namespace rdmaqos
