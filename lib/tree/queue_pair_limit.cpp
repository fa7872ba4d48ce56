#include "lib/tree/queue_pair_limit.h"

#include <algorithm>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

// Some devices report 0 for both ends of their range.
std::optional<Bandwidth> known(const std::optional<Bandwidth>& bound)
{
    return bound && !bound->is_zero() ? bound : std::nullopt;
}

void add_note(HeldLimit& held, std::string_view note)
{
    held.note += held.note.empty() ? "" : "; ";
    held.note += note;
}

HeldLimit nobody(LimitGap gap, std::string why)
{
    return {LimitHolder::Nobody, std::nullopt, gap, std::move(why), {}};
}

HeldLimit hold_by_pacing(const RateLimit& asked, const PacingCapabilities& pacing)
{
    if (const auto lowest = known(pacing.min_rate); lowest && asked.rate < *lowest) {
        return nobody(LimitGap::PacingMinimum,
                      fmt::format("the least the device can pace is {}; ask for that or more", to_string(*lowest)));
    }
    HeldLimit held{LimitHolder::Pacing, asked, LimitGap::None, {}, {}};
    const Bandwidth highest = std::min(known(pacing.max_rate).value_or(kMostPacedRate), kMostPacedRate);
    if (asked.rate > highest) {
        held.limit->rate = highest;
        add_note(held, fmt::format("{} is the most the device can pace; {} was asked", to_string(highest),
                                   to_string(asked.rate)));
    }
    if (asked.typical_packet && !pacing.typical_packet) {
        held.limit->typical_packet.reset();
        add_note(held, "the device takes no packet size with a rate, so `typical-packet` has no effect");
    }
    if (asked.max_burst && !pacing.burst) {
        held.limit->max_burst.reset();
        held.gap = LimitGap::PacingBurst;
        held.why = "the device takes no burst size with a rate; leave `max-burst` out";
    }
    return held;
}

std::string cannot_pace(const PacingCapabilities& pacing)
{
    return pacing.supported_types.empty()
               ? std::string("the device has no packet pacing")
               : fmt::format("the device paces {} queue pairs only", list_of_types(pacing.supported_types));
}

HeldLimit hold_by_leaf(const RateLimit& asked, const Capabilities& capabilities,
                       const std::optional<MissingLeaf>& no_leaf)
{
    const std::string unpaced = cannot_pace(capabilities.pacing);
    if (no_leaf) {
        const bool none = capabilities.pacing.supported_types.empty();
        return nobody(no_leaf->used_up ? LimitGap::NoLeaf
                      : none           ? LimitGap::NoPacing
                                       : LimitGap::PacingType,
                      fmt::format("{}, and {}", unpaced, no_leaf->why));
    }
    if (!capabilities.rate_caps) {
        return nobody(LimitGap::NoRateCaps,
                      fmt::format("{}, and it has no caps on scheduling elements; leave the limit out", unpaced));
    }
    if (asked.rate < kLeastLeafRate) {
        return nobody(LimitGap::LeafMinimum,
                      fmt::format("{}, and the least that a leaf can be capped at is {}; ask for that or more", unpaced,
                                  to_string(kLeastLeafRate)));
    }
    const auto whole = Bandwidth::from_mbps(asked.rate.mbps());
    HeldLimit held{LimitHolder::Leaf, RateLimit{whole, {}, {}}, LimitGap::None, {}, {}};
    if (whole != asked.rate) {
        add_note(held, fmt::format("{} is held, {} was asked: caps of leaves are whole Mbit/s", to_string(whole),
                                   to_string(asked.rate)));
    }
    if (asked.typical_packet) {
        add_note(held, "a leaf holds the rate, so `typical-packet` has no effect");
    }
    if (asked.max_burst) {
        held.gap = LimitGap::LeafBurst;
        held.why = fmt::format("{}, so a leaf holds the rate, and leaves take no burst size; leave `max-burst` out",
                               unpaced);
    }
    return held;
}

}    // namespace

Result<void> check_range(const RateLimit& limit)
{
    if (limit.rate > kMostPacedRate) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("a rate of {} kbit/s is out of range: at most {} kbit/s ({})", limit.rate.kbps(),
                                kMostPacedRate.kbps(), to_string(kMostPacedRate)));
    }
    if (limit.max_burst.value_or(0) > kMostBurst) {
        return fail(ErrorCode::InvalidArgument, fmt::format("`max-burst` {} is out of range: 1 to {} bytes, 0 for the "
                                                            "device's default",
                                                            *limit.max_burst, kMostBurst));
    }
    if (limit.typical_packet.value_or(0) > kMostTypicalPacket) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("`typical-packet` {} is out of range: 1 to {} bytes, 0 for the device's default (the "
                                "port's MTU)",
                                *limit.typical_packet, kMostTypicalPacket));
    }
    return {};
}

std::string_view to_string(LimitGap gap)
{
    switch (gap) {
    case LimitGap::None:
        break;
    case LimitGap::NoPacing:
        return "no-pacing";
    case LimitGap::PacingType:
        return "pacing-type";
    case LimitGap::PacingMinimum:
        return "pacing-minimum";
    case LimitGap::PacingTable:
        return "pacing-table";
    case LimitGap::PacingBurst:
        return "pacing-burst";
    case LimitGap::NoLeaf:
        return "no-leaf";
    case LimitGap::NoRateCaps:
        return "no-rate-caps";
    case LimitGap::LeafMinimum:
        return "leaf-minimum";
    case LimitGap::LeafBurst:
        return "leaf-burst";
    }
    return "";
}

std::string no_schedule(std::string_view level)
{
    return fmt::format("level {} has no `schedule` that would give each a leaf; give it one", level);
}

std::string no_leaf_left(std::string_view why)
{
    return fmt::format("no leaf is left for it: {}", why);
}

HeldLimit hold_limit(const RateLimit& asked, QueuePairType type, const Capabilities& capabilities,
                     const std::optional<MissingLeaf>& no_leaf)
{
    RateLimit limit = asked;
    limit.max_burst = asked.max_burst.value_or(0) == 0 ? std::nullopt : asked.max_burst;
    limit.typical_packet = asked.typical_packet.value_or(0) == 0 ? std::nullopt : asked.typical_packet;
    return capabilities.pacing.supported_types.contains(type) ? hold_by_pacing(limit, capabilities.pacing)
                                                              : hold_by_leaf(limit, capabilities, no_leaf);
}

std::string shortfall(const RateLimit& asked, const HeldLimit& held)
{
    if (held.gap == LimitGap::None) {
        return {};
    }
    if (held.by == LimitHolder::Nobody) {
        return fmt::format("the limit of {} per queue pair is not enforced: {}", to_string(asked.rate), held.why);
    }
    return fmt::format("the rate of {} is held, but not the burst of {}: {}", to_string(held.limit->rate),
                       bytes_to_string(asked.max_burst.value_or(0)), held.why);
}

std::string refusal(const RateLimit& asked, const HeldLimit& held)
{
    if (held.gap == LimitGap::None || held.by == LimitHolder::Nobody) {
        return shortfall(asked, held);
    }
    return fmt::format("the limit of {} with bursts of {} is not set: {}", to_string(asked.rate),
                       bytes_to_string(asked.max_burst.value_or(0)), held.why);
}

std::string list_of_types(const std::set<QueuePairType>& types)
{
    std::string text;
    for (const QueuePairType type : types) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", to_string(type));
    }
    return text;
}

}    // namespace rdmaqos
