#include "daemon/device/device_names.h"

#include <algorithm>

namespace rdmaqos {

DeviceNames names_of(const DeviceInfo& info)
{
    return {info.name,        info.port,       info.netdev,
            info.pci_address, info.link_layer, info.link_up ? info.link_speed : Bandwidth{}};
}

std::optional<Endpoint> source_of(const DeviceInfo& info)
{
    if (info.link_layer != LinkLayer::InfiniBand && !info.gids.empty()) {
        constexpr std::uint64_t kLinkLocal = 0xfe80'0000'0000'0000;
        const auto global = std::ranges::find_if(
            info.gids, [](const Gid& gid) { return gid.subnet_prefix() != kLinkLocal && gid != Gid{}; });
        return global != info.gids.end() ? *global : info.gids.front();
    }
    return info.port_guid != Guid{} ? std::optional<Endpoint>(info.port_guid) : std::nullopt;
}

Request request_of(const DeviceInfo& info)
{
    Request request;
    request.device = names_of(info);
    request.of_kernel = true;
    return request;
}

}    // namespace rdmaqos
