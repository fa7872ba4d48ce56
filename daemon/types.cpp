#include "daemon/types.h"

#include <fmt/format.h>

namespace rdmaqos {
namespace {

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
           a.message_model == b.message_model && a.leaf == b.leaf && a.enforced == b.enforced && a.reason == b.reason;
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
    case DeviceState::Gone:
        return "gone";
    }
    return "gone";
}

std::string ReloadOutcome::to_string(Colour colour) const
{
    std::string text = render(diagnostics, colour);
    for (const auto& [device, finding] : findings) {
        text += fmt::format("{}: {}: {}\n", device, finding.is_error ? "error" : "warning",
                            rdmaqos::to_string(finding));
    }
    return text;
}

}    // namespace rdmaqos
