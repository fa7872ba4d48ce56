#include "lib/nic/pacing.h"

#include <cerrno>

#include <fmt/format.h>

#include "lib/tree/queue_pair_limit.h"

namespace rdmaqos {
namespace {

std::optional<Bandwidth> known(const std::optional<Bandwidth>& bound)
{
    return bound && !bound->is_zero() ? bound : std::nullopt;
}

constexpr const char* kLeafInstead =
    "leave out the limit, or use a class with `fair-by: queue-pair`, where a leaf holds each queue pair to it";

// Why this limit cannot work on such a device, whatever the errno; empty: it can.
std::string missing_capability(const RateLimit& limit, QueuePairType type, const PacingCapabilities& pacing)
{
    if (pacing.supported_types.empty()) {
        return fmt::format("the device states no packet pacing; {}", kLeafInstead);
    }
    if (!pacing.supported_types.contains(type)) {
        return fmt::format("the device paces queue pairs of type {} only, not {}; {}",
                           list_of_types(pacing.supported_types), to_string(type), kLeafInstead);
    }
    if (limit.max_burst && !pacing.burst) {
        return "the device takes no burst size; leave `max-burst` out";
    }
    if (limit.typical_packet && !pacing.typical_packet) {
        return "the device takes no packet size; leave `typical-packet` out";
    }
    const auto lowest = known(pacing.min_rate);
    const auto highest = known(pacing.max_rate);
    if (lowest && limit.rate < *lowest) {
        return fmt::format("the least the device can pace is {}; ask for that or more", to_string(*lowest));
    }
    if (highest && limit.rate > *highest) {
        return fmt::format("the most the device can pace is {}; ask for that or less", to_string(*highest));
    }
    return {};
}

std::string invalid(const RateLimit& limit, const PacingCapabilities& pacing)
{
    if (!known(pacing.min_rate) || !known(pacing.max_rate)) {
        return "the device does not state the range of rates it can pace, and this one seems to be outside; try "
               "another, or attach again when the queue pair is in RTS";
    }
    if (limit.max_burst || limit.typical_packet) {
        return "the rate is within the device's range; leave `max-burst` and `typical-packet` out, or attach again "
               "when the queue pair is in RTS";
    }
    return "the rate is within the device's range, so the queue pair is in a state without a rate; attach again when "
           "it is in RTS";
}

std::string table_full(const PacingCapabilities& pacing)
{
    const std::string which = pacing.table_size == 0
                                  ? "the device's pacing table is full"
                                  : fmt::format("all {} entries of the device's pacing table are in use",
                                                pacing.table_size);
    return which + ", perhaps by other programs too; use fewer different rates, bursts and packet sizes";
}

}    // namespace

Error explain_rate_refusal(int sys_errno, const std::optional<RateLimit>& limit, QueuePairType type,
                           const PacingCapabilities& pacing)
{
    const std::string what = limit ? fmt::format("{} is refused", to_string(limit->rate))
                                   : std::string("lifting the limit is refused");
    const std::string cause = limit ? missing_capability(*limit, type, pacing) : std::string{};
    const auto refusal = [&](ErrorCode code, const std::string& otherwise) {
        return Error{code, sys_errno, fmt::format("{}: {}", what, cause.empty() ? otherwise : cause)};
    };
    switch (sys_errno) {
    case EINVAL:
        return refusal(ErrorCode::InvalidArgument,
                       limit ? invalid(*limit, pacing) : "the queue pair is in a state without a rate, and has none");
    case ENOSPC:
        return {ErrorCode::NoSpace, sys_errno, fmt::format("{}: {}", what, table_full(pacing))};
    case EOPNOTSUPP:
        return refusal(
            ErrorCode::Unsupported,
            fmt::format("the kernel or the firmware has no packet pacing for queue pairs of type {}; update them, "
                        "or {}",
                        to_string(type), kLeafInstead));
    case ENOSYS:
        return {ErrorCode::Unsupported, sys_errno,
                fmt::format("{}: the kernel has no call for rates of queue pairs; use a newer one, or {}", what,
                            kLeafInstead)};
    default:
        return {ErrorCode::DeviceFailed, sys_errno, what};
    }
}

}    // namespace rdmaqos
