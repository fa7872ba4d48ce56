// InfiniBand encodings of MTU, rate and lifetime as they stand in a PathRecord and in an OpenSM policy.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/interval_set.h"
#include "lib/base/units.h"

namespace rdmaqos {

// 1=256 2=512 3=1024 4=2048 5=4096 bytes; ordered by size.
enum class IbMtu : std::uint8_t { Mtu256 = 1, Mtu512, Mtu1024, Mtu2048, Mtu4096 };

[[nodiscard]] std::optional<IbMtu> ib_mtu_from_bytes(std::uint64_t size);
[[nodiscard]] std::uint32_t bytes(IbMtu mtu);

constexpr std::uint8_t kHighestSl = 15;
constexpr std::uint16_t kHighestQosClass = 0xFFF;    // 12 bits

// A PathRecord.Rate: 2=2.5 3=10 4=30 5=5 6=20 7=40 8=60 9=80 10=120 11=14 12=56 13=112 14=168 15=25 16=100 17=200
// 18=300 19=28 20=50 21=400 22=600 23=800 24=1200 Gb/s. The numbers are not in the order of the rates, and OpenSM's
// order is not that of the nominal rates either (30 < 25, 60 < 50, 120 < 100: by signalling equivalents), hence no
// operator<; use compare_rates.
enum class IbRate : std::uint8_t {};

constexpr std::uint8_t kLowestIbRate = 2;
constexpr std::uint8_t kHighestIbRate = 24;

[[nodiscard]] std::optional<IbRate> ib_rate_from_number(std::uint64_t number);
// The rate whose nominal value is exactly this.
[[nodiscard]] std::optional<IbRate> ib_rate_from_bandwidth(Bandwidth bandwidth);
// The highest rate (in OpenSM's order) whose nominal value is at most this; empty below 2.5 Gb/s.
[[nodiscard]] std::optional<IbRate> ib_rate_at_most(Bandwidth bandwidth);
[[nodiscard]] Bandwidth nominal(IbRate rate);
[[nodiscard]] std::strong_ordering compare_rates(IbRate a, IbRate b);
// The next lower rate in OpenSM's order; empty for the lowest.
[[nodiscard]] std::optional<IbRate> previous_rate(IbRate rate);
[[nodiscard]] constexpr std::uint8_t number(IbRate rate)
{
    return static_cast<std::uint8_t>(rate);
}

// "3 = 10 Gbit/s", "5 = 4096 bytes", "16 = 268 ms"
[[nodiscard]] std::string in_words(IbRate rate);
[[nodiscard]] std::string in_words(IbMtu mtu);
// A packet life of n means 4.096 us * 2^n, n = 0..63.
constexpr std::uint8_t kHighestPacketLife = 63;
[[nodiscard]] std::string packet_life_in_words(std::uint8_t life);

// A range of P_Keys in a policy, as OpenSM takes it: both bounds lose the membership bit and all above it, then they
// are swapped if they are reversed. A P_Key of more than 16 bits becomes another one, and a range across a multiple of
// 0x8000 turns inside out: 0x7ff0-0x8010 is 0x10-0x7ff0. The one that keeps its meaning is 0-0xffff, every partition.
enum class PKeyMasking : std::uint8_t { Kept, TooWide, InsideOut };
struct MaskedPKeys {
    Interval interval;
    PKeyMasking masking = PKeyMasking::Kept;
};
[[nodiscard]] MaskedPKeys mask_pkeys(const Interval& range);

}    // namespace rdmaqos
