// The components of a PathRecord query as people write them: a value, perhaps with >, < or = in front. "2048", ">1024",
// "=40Gbps", "<16". Empty: it is none; the caller says what is asked for.
#pragma once

#include <optional>
#include <string_view>

#include "policy/model/request.h"

namespace rdmaqos {

[[nodiscard]] std::optional<Selected<IbMtu>> parse_mtu_component(std::string_view text);
[[nodiscard]] std::optional<Selected<IbRate>> parse_rate_component(std::string_view text);
[[nodiscard]] std::optional<Selected<std::uint8_t>> parse_packet_life_component(std::string_view text);

}    // namespace rdmaqos
