#include "lib/nic/backend.h"

#include <fmt/format.h>

namespace rdmaqos {

std::string_view to_string(LinkLayer layer)
{
    return layer == LinkLayer::InfiniBand ? "InfiniBand" : "Ethernet";
}

std::string_view to_string(AttachMode mode)
{
    switch (mode) {
    case AttachMode::Shared:
        return "shared";
    case AttachMode::PerProcess:
        return "per-process";
    case AttachMode::None:
        return "none";
    }
    return "none";
}

std::string DeviceInfo::key() const
{
    return fmt::format("{}/{}", name, port);
}

}    // namespace rdmaqos
