// Quantities that carry their unit. Each is made by a named function, so that a bare number never changes meaning.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace rdmaqos {

// A transmit rate. Decimal units as in networking: 1 Gbps = 1000 Mbps = 1,000,000 kbps. Resolution 1 kbit/s.
// There is no "zero means unlimited" here: unlimited is an empty std::optional<Bandwidth>; only a backend's
// encoder turns that into the device's 0.
class Bandwidth {
public:
    constexpr Bandwidth() = default;

    static constexpr Bandwidth from_kbps(std::uint64_t kbps) { return Bandwidth(kbps); }
    static constexpr Bandwidth from_mbps(std::uint64_t mbps) { return Bandwidth(mbps * 1000); }
    static constexpr Bandwidth from_gbps(std::uint64_t gbps) { return Bandwidth(gbps * 1'000'000); }
    // Of a computation with doubles, rounded down but for its errors: what is below zero or no number is zero, what is
    // too large is the largest there is.
    static constexpr Bandwidth from_computed(double kbps)
    {
        constexpr double kTolerance = 1e-3;
        constexpr double kBeyond = 18446744073709551616.0;    // 2^64, which kLargest is just below
        if (!(kbps > 0)) {
            return {};
        }
        return kbps + kTolerance < kBeyond ? Bandwidth(static_cast<std::uint64_t>(kbps + kTolerance))
                                           : Bandwidth(kLargest);
    }

    [[nodiscard]] constexpr std::uint64_t kbps() const { return kbps_; }
    // Rounded down to whole Mbit/s, the resolution of a scheduling element.
    [[nodiscard]] constexpr std::uint64_t mbps() const { return kbps_ / 1000; }
    [[nodiscard]] constexpr bool is_zero() const { return kbps_ == 0; }

    friend constexpr auto operator<=>(Bandwidth, Bandwidth) = default;

    // The largest there is where the sum is beyond it: thousands of rates of a policy are added up.
    friend constexpr Bandwidth operator+(Bandwidth a, Bandwidth b)
    {
        return a.kbps_ > kLargest - b.kbps_ ? Bandwidth(kLargest) : Bandwidth(a.kbps_ + b.kbps_);
    }

private:
    static constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

    constexpr explicit Bandwidth(std::uint64_t kbps) : kbps_(kbps) {}

    std::uint64_t kbps_ = 0;
};

// "40 Gbit/s", "2.5 Gbit/s", "400 Mbit/s", "64 kbit/s": exact, the largest unit that keeps at most three decimals.
[[nodiscard]] std::string to_string(Bandwidth bandwidth);

enum class UnitError : std::uint8_t {
    NotANumber,     // no digits, or something else behind them
    MissingUnit,    // a bare number other than where one is allowed
    UnknownUnit,
    TooFine,    // below the resolution: 0.0001Mbps
    Overflow,
};

template <typename T>
struct Parsed {
    std::optional<T> value;
    UnitError error = UnitError::NotANumber;    // meaningful when there is no value
};

// "25Gbps", "2.5Gbps", "400 Mbps", "64kbps", or as to_string() writes it, "25 Gbit/s"; the unit is case-insensitive
// and mandatory: bps, kbps, Mbps, Gbps, Tbps, bit/s, kbit/s and so on. "0Gbps" parses to zero: whether zero is allowed
// is for the caller to say.
[[nodiscard]] Parsed<Bandwidth> parse_bandwidth(std::string_view text);

// A size in bytes: "64KiB", "1 MiB", "1500B", "4096 bytes", "64KB" (= 64,000) or a bare number of bytes.
[[nodiscard]] Parsed<std::uint64_t> parse_bytes(std::string_view text);
// "64 KiB", "1500 B"
[[nodiscard]] std::string bytes_to_string(std::uint64_t bytes);

// A time, in milliseconds: "500ms", "10 s", "5min" or "5m", "1h", "2d", or several that are added up: "1h30min". A bare
// number is seconds.
[[nodiscard]] Parsed<std::uint64_t> parse_milliseconds(std::string_view text);
// For who wrote something else.
inline constexpr std::string_view kTimeHint =
    "a time is numbers followed by ms, s, min (or m), h or d: `60s`, `30m`, `1h30min`";

// Decimal or 0x-hexadecimal, nothing else: no sign, no octal (a leading 0 is decimal), no blanks.
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view text);

}    // namespace rdmaqos
