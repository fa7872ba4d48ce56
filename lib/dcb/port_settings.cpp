#include "lib/dcb/port_settings.h"

#include <algorithm>

namespace rdmaqos::dcb {

std::uint8_t priority_of_dscp(const PortSettings& settings, std::uint8_t dscp)
{
    std::uint8_t priority = 0;
    for (const AppEntry& entry : settings.apps) {
        if (entry.selector == Selector::Dscp && entry.protocol == dscp) {
            priority = std::max(priority, entry.priority);
        }
    }
    return priority;
}

bool trusts_dscp(const PortSettings& settings)
{
    return std::ranges::any_of(settings.apps, [](const AppEntry& entry) { return entry.selector == Selector::Dscp; });
}

std::uint8_t class_of_dscp(const PortSettings& settings, std::uint8_t dscp)
{
    const std::uint8_t priority = priority_of_dscp(settings, dscp);
    return settings.ets && priority < kPriorities ? settings.ets->class_of_priority[priority] : 0;
}

}    // namespace rdmaqos::dcb
