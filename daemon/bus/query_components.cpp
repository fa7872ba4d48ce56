#include "daemon/bus/query_components.h"

#include "daemon/bus/refusals.h"
#include "lib/base/text.h"

namespace rdmaqos {

Result<void> QueryComponents::take_selector(std::string_view key, const bus::Value& value, Component& to)
{
    const auto& text = *value.as<std::string>();
    to.selector = parse_selector(text);
    if (!to.selector) {
        return invalid("`{}` must be `exactly`, `greater-than`, `less-than` or `largest`, not `{}`", key,
                       printable(text));
    }
    return {};
}

Result<void> QueryComponents::take(RequestKey key, const bus::Value& value)
{
    switch (key) {
    case RequestKey::MtuSelector:
        return take_selector("mtu-selector", value, mtu_);
    case RequestKey::RateSelector:
        return take_selector("rate-selector", value, rate_);
    case RequestKey::PacketLifeSelector:
        return take_selector("packet-life-selector", value, packet_life_);
    case RequestKey::Mtu:
        mtu_.value = value.as_unsigned();
        return {};
    case RequestKey::Rate:
        rate_.value = value.as_unsigned();
        return {};
    default:
        packet_life_.value = value.as_unsigned();
        return {};
    }
}

// `parse` makes the component's own type of a number, or nothing.
template <typename T, typename Parse>
Result<void> QueryComponents::join(std::string_view key, const Component& component, std::optional<Selected<T>>& to,
                                   Parse parse, std::string_view wanted)
{
    if (component.selector == Selector::Largest) {
        to = Selected<T>{Selector::Largest, T{}};
        return {};
    }
    if (!component.value) {
        return component.selector ? Result<void>(invalid("`{}-selector` needs `{}`", key, key)) : Result<void>();
    }
    const std::optional<T> value = parse(*component.value);
    if (!value) {
        return invalid("`{}` must be {}, not {}", key, wanted, *component.value);
    }
    to = Selected<T>{component.selector.value_or(Selector::Exactly), *value};
    return {};
}

Result<void> QueryComponents::give_to(Request& request) const
{
    const auto rate_of = [](std::uint64_t kbps) { return ib_rate_from_bandwidth(Bandwidth::from_kbps(kbps)); };
    const auto life_of = [](std::uint64_t number) {
        return number <= kHighestPacketLife ? std::optional(static_cast<std::uint8_t>(number)) : std::nullopt;
    };
    auto taken = join("mtu", mtu_, request.mtu, ib_mtu_from_bytes, "256, 512, 1024, 2048 or 4096 bytes");
    if (taken) {
        taken = join("rate", rate_, request.rate, rate_of, "an InfiniBand rate in kbit/s, such as 40000000");
    }
    if (taken) {
        taken = join("packet-life", packet_life_, request.packet_life, life_of, "0 to 63");
    }
    return taken;
}

}    // namespace rdmaqos
