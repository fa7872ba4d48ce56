#include "policy/model/fabric.h"

#include <algorithm>

namespace rdmaqos {

std::string_view to_string(NodeType type)
{
    switch (type) {
    case NodeType::Ca:
        return "CA";
    case NodeType::Switch:
        return "SWITCH";
    case NodeType::Router:
        return "ROUTER";
    }
    return "CA";
}

const FabricPort* Fabric::find_port(Guid guid) const
{
    const auto found = std::find_if(ports.begin(), ports.end(),
                                    [guid](const FabricPort& port) { return port.guid == guid; });
    return found == ports.end() ? nullptr : &*found;
}

const FabricPort* Fabric::find_lid(Lid lid) const
{
    const auto found = std::find_if(ports.begin(), ports.end(), [lid](const FabricPort& port) {
        return port.lids && port.lids->base <= lid && lid <= port.lids->last();
    });
    return found == ports.end() ? nullptr : &*found;
}

}    // namespace rdmaqos
