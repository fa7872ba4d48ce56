#include "policy/model/ib.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "lib/base/net.h"

namespace rdmaqos {
namespace {

constexpr std::array<std::uint32_t, 5> kMtuBytes{256, 512, 1024, 2048, 4096};

struct RateEntry {
    std::uint8_t number;
    std::uint32_t mbps;
};

// In OpenSM's order.
constexpr std::array<RateEntry, 23> kRates{{
    {2, 2'500},    {5, 5'000},    {3, 10'000},   {11, 14'000},  {6, 20'000},     {4, 30'000},
    {15, 25'000},  {19, 28'000},  {7, 40'000},   {8, 60'000},   {20, 50'000},    {12, 56'000},
    {9, 80'000},   {10, 120'000}, {16, 100'000}, {13, 112'000}, {14, 168'000},   {17, 200'000},
    {18, 300'000}, {21, 400'000}, {22, 600'000}, {23, 800'000}, {24, 1'200'000},
}};

std::size_t rank(IbRate rate)
{
    const auto found = std::find_if(kRates.begin(), kRates.end(),
                                    [rate](const RateEntry& entry) { return entry.number == number(rate); });
    return static_cast<std::size_t>(found - kRates.begin());
}

}    // namespace

std::optional<IbMtu> ib_mtu_from_bytes(std::uint64_t size)
{
    for (std::size_t i = 0; i < kMtuBytes.size(); ++i) {
        if (kMtuBytes.at(i) == size) {
            return static_cast<IbMtu>(i + 1);
        }
    }
    return std::nullopt;
}

std::uint32_t bytes(IbMtu mtu)
{
    return kMtuBytes.at(static_cast<std::size_t>(mtu) - 1);
}

std::optional<IbRate> ib_rate_from_number(std::uint64_t number)
{
    if (number < kLowestIbRate || number > kHighestIbRate) {
        return std::nullopt;
    }
    return static_cast<IbRate>(number);
}

std::optional<IbRate> ib_rate_from_bandwidth(Bandwidth bandwidth)
{
    for (const auto& entry : kRates) {
        if (Bandwidth::from_mbps(entry.mbps) == bandwidth) {
            return static_cast<IbRate>(entry.number);
        }
    }
    return std::nullopt;
}

std::optional<IbRate> ib_rate_at_most(Bandwidth bandwidth)
{
    const auto found = std::find_if(kRates.rbegin(), kRates.rend(), [bandwidth](const RateEntry& entry) {
        return Bandwidth::from_mbps(entry.mbps) <= bandwidth;
    });
    return found == kRates.rend() ? std::nullopt : std::optional(static_cast<IbRate>(found->number));
}

Bandwidth nominal(IbRate rate)
{
    const std::size_t index = rank(rate);
    return index < kRates.size() ? Bandwidth::from_mbps(kRates.at(index).mbps) : Bandwidth{};
}

std::strong_ordering compare_rates(IbRate a, IbRate b)
{
    return rank(a) <=> rank(b);
}

std::optional<IbRate> previous_rate(IbRate rate)
{
    const std::size_t index = rank(rate);
    if (index == 0 || index >= kRates.size()) {
        return std::nullopt;
    }
    return static_cast<IbRate>(kRates.at(index - 1).number);
}

std::string in_words(IbRate rate)
{
    return fmt::format("{} = {}", number(rate), to_string(nominal(rate)));
}

std::string in_words(IbMtu mtu)
{
    return fmt::format("{} = {} bytes", static_cast<unsigned>(mtu), bytes(mtu));
}

std::string packet_life_in_words(std::uint8_t life)
{
    struct Unit {
        std::string_view name;
        double microseconds;
    };
    constexpr std::array<Unit, 6> kUnits{
        {{"years", 31'557'600e6}, {"days", 86'400e6}, {"h", 3'600e6}, {"s", 1e6}, {"ms", 1e3}, {"us", 1}}};
    const double microseconds = 4.096 * static_cast<double>(std::uint64_t{1} << std::min(life, kHighestPacketLife));
    const auto unit = std::find_if(kUnits.begin(), std::prev(kUnits.end()),
                                   [&](const Unit& candidate) { return microseconds >= candidate.microseconds; });
    return fmt::format("{} = {:.3g} {}", life, microseconds / unit->microseconds, unit->name);
}

MaskedPKeys mask_pkeys(const Interval& range)
{
    constexpr std::uint64_t kHighestPKey = 0xFFFF;
    Interval masked{range.first & kPKeyMask, range.last & kPKeyMask};
    const bool crosses = range.first / (kPKeyMask + 1U) != range.last / (kPKeyMask + 1U);
    const bool inside_out = crosses && masked != Interval{0, kPKeyMask};
    if (masked.last < masked.first) {
        std::swap(masked.first, masked.last);
    }
    if (inside_out) {
        return {masked, PKeyMasking::InsideOut};
    }
    return {masked, range.last > kHighestPKey ? PKeyMasking::TooWide : PKeyMasking::Kept};
}

}    // namespace rdmaqos
