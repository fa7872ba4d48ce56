#include "policy/path/path_text.h"

#include <utility>

#include "lib/base/units.h"

namespace rdmaqos {
namespace {

std::pair<Selector, std::string_view> split(std::string_view text)
{
    if (text.starts_with('>')) {
        return {Selector::GreaterThan, text.substr(1)};
    }
    if (text.starts_with('<')) {
        return {Selector::LessThan, text.substr(1)};
    }
    return {Selector::Exactly, text.starts_with('=') ? text.substr(1) : text};
}

// Without a value: it has none.
template <typename T>
std::optional<Selected<T>> parse_largest(std::string_view text)
{
    return text == to_string(Selector::Largest) ? std::optional(Selected<T>{Selector::Largest, T{}}) : std::nullopt;
}

}    // namespace

std::optional<Selected<IbMtu>> parse_mtu_component(std::string_view text)
{
    if (const auto largest = parse_largest<IbMtu>(text)) {
        return largest;
    }
    const auto [selector, value] = split(text);
    const auto number = parse_number(value);
    const auto size = number ? number : parse_bytes(value).value;
    const auto mtu = size ? ib_mtu_from_bytes(*size) : std::nullopt;
    return mtu ? std::optional(Selected<IbMtu>{selector, *mtu}) : std::nullopt;
}

std::optional<Selected<IbRate>> parse_rate_component(std::string_view text)
{
    if (const auto largest = parse_largest<IbRate>(text)) {
        return largest;
    }
    const auto [selector, value] = split(text);
    const auto bandwidth = parse_bandwidth(value);
    const auto rate = bandwidth.value ? ib_rate_from_bandwidth(*bandwidth.value) : std::nullopt;
    return rate ? std::optional(Selected<IbRate>{selector, *rate}) : std::nullopt;
}

std::optional<Selected<std::uint8_t>> parse_packet_life_component(std::string_view text)
{
    if (const auto largest = parse_largest<std::uint8_t>(text)) {
        return largest;
    }
    const auto [selector, value] = split(text);
    const auto life = parse_number(value);
    if (!life || *life > kHighestPacketLife) {
        return std::nullopt;
    }
    return Selected<std::uint8_t>{selector, static_cast<std::uint8_t>(*life)};
}

}    // namespace rdmaqos
