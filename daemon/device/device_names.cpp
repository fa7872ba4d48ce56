#include "daemon/device/device_names.h"

namespace rdmaqos {

DeviceNames names_of(const DeviceInfo& info)
{
    return {info.name,        info.port,       info.netdev,
            info.pci_address, info.link_layer, info.link_up ? info.link_speed : Bandwidth{}};
}

Request request_of(const DeviceInfo& info)
{
    Request request;
    request.device = names_of(info);
    request.of_kernel = true;
    return request;
}

}    // namespace rdmaqos
