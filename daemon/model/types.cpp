#include "daemon/model/types.h"

#include <algorithm>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

std::uint32_t left_of(std::uint32_t limit, std::uint32_t used)
{
    return limit > used ? limit - used : 0;
}

bool same_limits(const PerQueuePair& a, const PerQueuePair& b)
{
    return a.max_rate == b.max_rate && a.max_burst == b.max_burst && a.typical_packet == b.typical_packet;
}

}    // namespace

bool operator==(const Grant& a, const Grant& b)
{
    return a.level == b.level && a.rule == b.rule && a.verified == b.verified && a.sl == b.sl && a.mtu == b.mtu &&
           a.rate == b.rate && a.packet_life == b.packet_life && a.pkey == b.pkey &&
           a.traffic_class == b.traffic_class && a.share == b.share && a.max_rate == b.max_rate &&
           a.max_rate_now == b.max_rate_now && same_limits(a.per_queue_pair, b.per_queue_pair) &&
           a.message_model == b.message_model && a.leaf == b.leaf && a.enforced == b.enforced && a.cause == b.cause &&
           a.reason == b.reason;
}

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

std::string ReloadOutcome::to_string(Colour colour, Quote quote) const
{
    std::string text = render(diagnostics, colour, quote);
    for (const auto& [device, finding] : findings) {
        text += fmt::format("{}: {}: {}\n", device, finding.is_error ? "error" : "warning",
                            rdmaqos::to_string(finding));
    }
    for (const auto& device : unanswered) {
        text += fmt::format("{}: warning: has not answered yet; it takes the policy when it does\n", device);
    }
    return text;
}

}    // namespace rdmaqos
