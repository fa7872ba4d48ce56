#include "lib/model/pacing.h"

#include <string>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

std::string list(const std::set<QueuePairType>& types)
{
    std::string text;
    for (const QueuePairType type : types) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", to_string(type));
    }
    return text;
}

}    // namespace

std::optional<Refusal> PacingTable::check(QueuePairType type, const RateLimit& limit) const
{
    if (capabilities_.supported_types.empty()) {
        return make_refusal(RefusalReason::PacingNotSupported,
                            "the device has no packet pacing; cap the queue pair by a leaf of its own");
    }
    if (!capabilities_.supported_types.contains(type)) {
        return make_refusal(RefusalReason::PacingTypeNotSupported,
                            fmt::format("the device paces queue pairs of type {} only, not {}; cap the queue pair by "
                                        "a leaf of its own",
                                        list(capabilities_.supported_types), to_string(type)));
    }
    if (limit.rate.is_zero()) {
        return make_refusal(RefusalReason::PacingRateZero,
                            "a pacing rate of 0 means \"no limit\" to the device and takes no burst or packet size");
    }
    if (limit.max_burst && !capabilities_.burst) {
        return make_refusal(RefusalReason::PacingBurstNotSupported,
                            "the device takes no burst size with a pacing rate; leave it out");
    }
    if (limit.typical_packet && !capabilities_.typical_packet) {
        return make_refusal(RefusalReason::PacingPacketNotSupported,
                            "the device takes no typical packet size with a pacing rate; leave it out");
    }
    if (capabilities_.min_rate && limit.rate < *capabilities_.min_rate) {
        return make_refusal(RefusalReason::PacingRateOutOfRange,
                            fmt::format("pacing rate {} is below the device's minimum of {}", to_string(limit.rate),
                                        to_string(*capabilities_.min_rate)));
    }
    if (capabilities_.max_rate && limit.rate > *capabilities_.max_rate) {
        return make_refusal(RefusalReason::PacingRateOutOfRange,
                            fmt::format("pacing rate {} is above the device's maximum of {}", to_string(limit.rate),
                                        to_string(*capabilities_.max_rate)));
    }
    return std::nullopt;
}

Answer<void> PacingTable::acquire(std::uint32_t context, const RateLimit& limit)
{
    const auto found = users_.find({context, limit});
    if (found != users_.end()) {
        ++found->second;
        return {};
    }
    if (capabilities_.table_size != 0 && users_.size() >= capabilities_.table_size) {
        return tl::unexpected(make_refusal(
            RefusalReason::PacingTableFull,
            fmt::format("all {} entries of the device's pacing table are in use; use fewer distinct rates, bursts and "
                        "packet sizes",
                        capabilities_.table_size)));
    }
    users_.emplace(std::pair{context, limit}, 1);
    return {};
}

void PacingTable::release(std::uint32_t context, const RateLimit& limit)
{
    const auto found = users_.find({context, limit});
    if (found != users_.end() && --found->second == 0) {
        users_.erase(found);
    }
}

}    // namespace rdmaqos
