#include "daemon/model/device_status.h"

#include <algorithm>

namespace rdmaqos {
namespace {

std::uint32_t left_of(std::uint32_t limit, std::uint32_t used)
{
    return limit > used ? limit - used : 0;
}

}    // namespace

std::string_view to_string(DeviceState state)
{
    switch (state) {
    case DeviceState::Ready:
        return "ready";
    case DeviceState::Degraded:
        return "degraded";
    case DeviceState::Monitor:
        return "monitor";
    case DeviceState::Disabled:
        return "disabled";
    case DeviceState::Gone:
        return "gone";
    }
    return "gone";
}

std::uint32_t elements_used(const DeviceStatus& status)
{
    return status.snapshot ? static_cast<std::uint32_t>(status.snapshot->actual.elements.size()) : 0;
}

std::uint32_t elements_free(const DeviceStatus& status)
{
    return left_of(status.capabilities.max_elements, elements_used(status));
}

std::uint32_t leaves_used(const DeviceStatus& status)
{
    if (!status.snapshot) {
        return 0;
    }
    return static_cast<std::uint32_t>(std::ranges::count_if(
        status.snapshot->actual.elements, [](const auto& entry) { return entry.second.kind == ElementKind::Leaf; }));
}

std::uint32_t leaves_free(const DeviceStatus& status)
{
    return left_of(status.capabilities.max_leaves, leaves_used(status));
}

}    // namespace rdmaqos
