// A part of something, in per cent.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/units.h"

namespace rdmaqos {

// More than 0 and at most 100 %, in steps of 0.01 %.
class Percentage {
public:
    static constexpr std::uint32_t kWhole = 10'000;

    static constexpr std::optional<Percentage> from_hundredths(std::uint32_t hundredths)
    {
        return hundredths > 0 && hundredths <= kWhole ? std::optional(Percentage(hundredths)) : std::nullopt;
    }

    [[nodiscard]] constexpr std::uint32_t hundredths() const { return hundredths_; }
    // Rounded down.
    [[nodiscard]] Bandwidth of(Bandwidth whole) const;

    friend constexpr auto operator<=>(Percentage, Percentage) = default;

private:
    constexpr explicit Percentage(std::uint32_t hundredths) : hundredths_(hundredths) {}

    std::uint32_t hundredths_;
};

// "25 %", "12.5 %"
[[nodiscard]] std::string to_string(Percentage percentage);

// True for what is meant as a percentage, right or wrong: it ends in '%'.
[[nodiscard]] bool is_percentage(std::string_view text);
// "25%", "12.5 %"; nothing for another text, for 0, for more than 100 and for more than two decimals.
[[nodiscard]] std::optional<Percentage> parse_percentage(std::string_view text);

}    // namespace rdmaqos
