#include "lib/base/percentage.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

constexpr std::size_t kMostDecimals = 2;
constexpr std::size_t kMostDigits = 3;

std::optional<std::uint32_t> number_of(std::string_view digits)
{
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(number) : std::nullopt;
}

}    // namespace

Bandwidth Percentage::of(Bandwidth whole) const
{
    // In two parts, so that no product is too large.
    const std::uint64_t kbps = whole.kbps();
    return Bandwidth::from_kbps(kbps / kWhole * hundredths_ + kbps % kWhole * hundredths_ / kWhole);
}

std::string to_string(Percentage percentage)
{
    const std::uint32_t hundredths = percentage.hundredths();
    if (hundredths % 100 == 0) {
        return fmt::format("{} %", hundredths / 100);
    }
    return hundredths % 10 == 0 ? fmt::format("{}.{} %", hundredths / 100, hundredths / 10 % 10)
                                : fmt::format("{}.{:02} %", hundredths / 100, hundredths % 100);
}

bool is_percentage(std::string_view text)
{
    return text.ends_with('%');
}

std::optional<Percentage> parse_percentage(std::string_view text)
{
    if (!is_percentage(text)) {
        return std::nullopt;
    }
    text.remove_suffix(1);
    while (text.ends_with(' ')) {
        text.remove_suffix(1);
    }
    const auto point = text.find('.');
    const auto whole = text.substr(0, point);
    const bool has_decimals = point != std::string_view::npos;
    std::string decimals(has_decimals ? text.substr(point + 1) : std::string_view("00"));
    if (whole.empty() || whole.size() > kMostDigits || decimals.empty() || decimals.size() > kMostDecimals ||
        !std::ranges::all_of(whole, is_digit) || !std::ranges::all_of(decimals, is_digit)) {
        return std::nullopt;
    }
    decimals.resize(kMostDecimals, '0');
    return Percentage::from_hundredths(*number_of(whole) * 100 + *number_of(decimals));
}

}    // namespace rdmaqos
