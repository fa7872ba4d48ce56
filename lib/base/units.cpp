#include "lib/base/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

struct Unit {
    std::string_view name;       // lower case
    std::uint64_t multiplier;    // in thousandths of the base unit, so that fractions stay exact
};

struct Quantity {
    std::uint64_t whole = 0;
    std::uint64_t fraction = 0;          // digits behind the point ...
    std::uint64_t fraction_scale = 1;    // ... over this power of ten
    std::string_view unit;
};

constexpr std::size_t kMaxFractionDigits = 9;
// Headroom keeps what is computed of it from wrapping.
constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max() / 1024;

Parsed<Quantity> split(std::string_view text)
{
    std::size_t pos = 0;
    while (pos < text.size() && is_digit(text[pos])) {
        ++pos;
    }
    Quantity quantity;
    if (pos == 0) {
        return {std::nullopt, UnitError::NotANumber};
    }
    if (std::from_chars(text.data(), text.data() + pos, quantity.whole).ec != std::errc{}) {
        return {std::nullopt, UnitError::Overflow};
    }
    if (pos < text.size() && text[pos] == '.') {
        const std::size_t begin = ++pos;
        while (pos < text.size() && is_digit(text[pos])) {
            ++pos;
        }
        if (pos == begin) {
            return {std::nullopt, UnitError::NotANumber};
        }
        if (pos - begin > kMaxFractionDigits) {
            return {std::nullopt, UnitError::TooFine};
        }
        std::from_chars(text.data() + begin, text.data() + pos, quantity.fraction);
        for (std::size_t i = begin; i < pos; ++i) {
            quantity.fraction_scale *= 10;
        }
    }
    while (pos < text.size() && text[pos] == ' ') {
        ++pos;
    }
    quantity.unit = text.substr(pos);
    return {quantity, {}};
}

// The quantity in base units; each unit's multiplier is the number of base units it holds, over `divisor`.
Parsed<std::uint64_t> scale(const Quantity& quantity, std::uint64_t multiplier, std::uint64_t divisor)
{
    __extension__ using Wide = unsigned __int128;    // a 64-bit product of two 64-bit factors
    Wide numerator = Wide{quantity.whole} * quantity.fraction_scale + quantity.fraction;
    if (__builtin_mul_overflow(numerator, Wide{multiplier}, &numerator)) {
        return {std::nullopt, UnitError::Overflow};
    }
    const Wide denominator = Wide{quantity.fraction_scale} * divisor;
    if (numerator % denominator != 0) {
        return {std::nullopt, UnitError::TooFine};
    }
    const Wide value = numerator / denominator;
    if (value > kLargest) {
        return {std::nullopt, UnitError::Overflow};
    }
    return {static_cast<std::uint64_t>(value), {}};
}

template <std::size_t N>
Parsed<std::uint64_t> parse_with(std::string_view text, const std::array<Unit, N>& units, std::uint64_t divisor,
                                 std::optional<std::uint64_t> bare_multiplier)
{
    const auto parsed = split(text);
    if (!parsed.value) {
        return {std::nullopt, parsed.error};
    }
    const auto& quantity = parsed.value;
    if (quantity->unit.empty()) {
        if (!bare_multiplier) {
            return {std::nullopt, UnitError::MissingUnit};
        }
        return scale(*quantity, *bare_multiplier, divisor);
    }
    for (const auto& unit : units) {
        if (equals_ignoring_case(unit.name, quantity->unit)) {
            return scale(*quantity, unit.multiplier, divisor);
        }
    }
    return {std::nullopt, UnitError::UnknownUnit};
}

}    // namespace

Parsed<Bandwidth> parse_bandwidth(std::string_view text)
{
    // People write the first five; to_string() writes the others, and what it writes is read back.
    static constexpr std::array<Unit, 10> kUnits{{
        {"bps", 1},
        {"kbps", 1000},
        {"mbps", 1'000'000},
        {"gbps", 1'000'000'000},
        {"tbps", 1'000'000'000'000},
        {"bit/s", 1},
        {"kbit/s", 1000},
        {"mbit/s", 1'000'000},
        {"gbit/s", 1'000'000'000},
        {"tbit/s", 1'000'000'000'000},
    }};
    const auto kbps = parse_with(text, kUnits, 1000, std::nullopt);
    if (!kbps.value) {
        return {std::nullopt, kbps.error};
    }
    return {Bandwidth::from_kbps(*kbps.value), {}};
}

Parsed<std::uint64_t> parse_bytes(std::string_view text)
{
    static constexpr std::array<Unit, 8> kUnits{{
        {"b", 1},
        {"bytes", 1},
        {"kb", 1000},
        {"mb", 1'000'000},
        {"gb", 1'000'000'000},
        {"kib", 1024},
        {"mib", 1024 * 1024},
        {"gib", 1024 * 1024 * 1024},
    }};
    return parse_with(text, kUnits, 1, 1);
}

Parsed<std::uint64_t> parse_milliseconds(std::string_view text)
{
    static constexpr std::array<Unit, 6> kUnits{{
        {"ms", 1},
        {"s", 1000},
        {"min", 60'000},
        {"m", 60'000},
        {"h", 3'600'000},
        {"d", 86'400'000},
    }};
    constexpr std::string_view kBeforeUnit = "0123456789. ";
    if (text.find_first_not_of("0123456789.") == std::string_view::npos) {
        return parse_with(text, kUnits, 1, 1000);
    }
    std::uint64_t sum = 0;
    while (!text.empty()) {
        const std::size_t unit = std::min(text.find_first_not_of(kBeforeUnit), text.size());
        const std::size_t end = std::min(text.find_first_of(kBeforeUnit, unit), text.size());
        const auto part = parse_with(text.substr(0, end), kUnits, 1, std::nullopt);
        if (!part.value) {
            return part;
        }
        if (*part.value > kLargest - sum) {
            return {std::nullopt, UnitError::Overflow};
        }
        sum += *part.value;
        text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
    }
    return {sum, {}};
}

std::string to_string(Bandwidth bandwidth)
{
    const std::uint64_t kbps = bandwidth.kbps();
    const auto in_unit = [kbps](std::uint64_t unit, std::string_view name) {
        const std::uint64_t thousandths = kbps % unit / (unit / 1000);
        std::string text = fmt::format("{}.{:03}", kbps / unit, thousandths);
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') {
            text.pop_back();
        }
        return fmt::format("{} {}", text, name);
    };
    if (kbps >= 1'000'000 && kbps % 1000 == 0) {
        return in_unit(1'000'000, "Gbit/s");
    }
    if (kbps >= 1000) {
        return in_unit(1000, "Mbit/s");
    }
    return fmt::format("{} kbit/s", kbps);
}

std::string bytes_to_string(std::uint64_t bytes)
{
    constexpr std::uint64_t kKiB = 1024;
    constexpr std::uint64_t kMiB = 1024 * kKiB;
    if (bytes >= kMiB && bytes % kMiB == 0) {
        return fmt::format("{} MiB", bytes / kMiB);
    }
    if (bytes >= kKiB && bytes % kKiB == 0) {
        return fmt::format("{} KiB", bytes / kKiB);
    }
    return fmt::format("{} B", bytes);
}

std::optional<std::uint64_t> parse_number(std::string_view text)
{
    int base = 10;
    if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text.remove_prefix(2);
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

}    // namespace rdmaqos
