#include "lib/nic/pacing.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

using testing::HasSubstr;

PacingCapabilities full()
{
    PacingCapabilities pacing;
    pacing.supported_types = {QueuePairType::RawPacket, QueuePairType::Ud};
    pacing.table_size = 127;
    pacing.burst = pacing.typical_packet = true;
    return pacing;
}

PacingCapabilities ranged(std::uint64_t min_kbps, std::uint64_t max_kbps)
{
    PacingCapabilities pacing = full();
    pacing.min_rate = Bandwidth::from_kbps(min_kbps);
    pacing.max_rate = Bandwidth::from_kbps(max_kbps);
    return pacing;
}

struct RefusalCase {
    const char* name;
    int sys_errno;
    std::optional<RateLimit> limit;
    QueuePairType type;
    PacingCapabilities pacing;
    ErrorCode code;
    const char* names;    // the capability, or the reason
    const char* advises;
};

TEST(RateRefusal, NamesWhatIsMissingAndWhatToChange)
{
    constexpr auto kRaw = QueuePairType::RawPacket;
    constexpr auto kRc = QueuePairType::Rc;
    const RateLimit slow{Bandwidth::from_mbps(5), {}, {}};
    const RateLimit bursty{Bandwidth::from_mbps(5), 65536, {}};
    const RateLimit sized{Bandwidth::from_mbps(5), {}, 1024};
    PacingCapabilities plain = full();
    plain.burst = plain.typical_packet = false;
    PacingCapabilities sizeless = full();
    sizeless.table_size = 0;
    const auto invalid = ErrorCode::InvalidArgument;
    const auto unsupported = ErrorCode::Unsupported;
    const RefusalCase cases[] = {
        {"no pacing", EINVAL, slow, kRaw, {}, invalid, "states no packet pacing", "fair-by: queue-pair"},
        {"type", EINVAL, slow, kRc, full(), invalid, "of type ud, raw-packet only, not rc", "fair-by: queue-pair"},
        {"burst", EINVAL, bursty, kRaw, plain, invalid, "takes no burst size", "leave `max-burst` out"},
        {"packet", EINVAL, sized, kRaw, plain, invalid, "takes no packet size", "leave `typical-packet` out"},
        {"low", EINVAL, slow, kRaw, ranged(10'000, 20'000), invalid, "the least the device can pace is 10 Mbit/s",
         "ask for that or more"},
        {"high", EINVAL, slow, kRaw, ranged(1000, 2000), invalid, "the most the device can pace is 2 Mbit/s",
         "ask for that or less"},
        {"unknown range", EINVAL, slow, kRaw, ranged(0, 0), invalid, "does not state the range", "try another"},
        {"state", EINVAL, slow, kRaw, ranged(1000, 10'000), invalid, "a state without a rate", "attach again"},
        {"state or burst", EINVAL, bursty, kRaw, ranged(1000, 10'000), invalid, "within the device's range",
         "leave `max-burst` and `typical-packet` out"},
        {"lifting", EINVAL, {}, kRaw, full(), invalid, "lifting the limit is refused", "has none"},
        {"table", ENOSPC, slow, kRaw, full(), ErrorCode::NoSpace, "all 127 entries of the device's pacing table",
         "use fewer different rates"},
        {"table of unknown size", ENOSPC, slow, kRaw, sizeless, ErrorCode::NoSpace, "pacing table is full",
         "use fewer different rates"},
        {"kernel or firmware", EOPNOTSUPP, slow, kRaw, full(), unsupported,
         "no packet pacing for queue pairs of type raw-packet", "update them"},
        {"type, told otherwise", EOPNOTSUPP, slow, kRc, full(), unsupported, "not rc", "fair-by: queue-pair"},
        {"no call", ENOSYS, slow, kRaw, full(), unsupported, "the kernel has no call for rates", "use a newer one"},
    };
    for (const auto& [name, sys_errno, limit, type, pacing, code, names, advises] : cases) {
        const Error error = explain_rate_refusal(sys_errno, limit, type, pacing);
        EXPECT_EQ(error.code, code) << name;
        EXPECT_EQ(error.sys_errno, sys_errno) << name;
        EXPECT_THAT(error.message, HasSubstr(names)) << name;
        EXPECT_THAT(error.message, HasSubstr(advises)) << name;
        EXPECT_THAT(error.message, HasSubstr(limit ? "5 Mbit/s is refused" : "lifting")) << name;
    }
    const Error other = explain_rate_refusal(EIO, slow, kRaw, full());
    EXPECT_EQ(other.code, ErrorCode::DeviceFailed);
    EXPECT_THAT(to_string(other), HasSubstr("Input/output error"));
}

}    // namespace
}    // namespace rdmaqos
