// Values as texts of a table; empty where there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "lib/base/units.h"
#include "lib/tree/element.h"

namespace rdmaqos::ctl {

// "5 Gbit/s"
[[nodiscard]] std::string rate_text(const std::optional<Bandwidth>& rate);
// "5 Gbit/s; burst: device default, packet: 1 KiB" of a queue pair's own limit.
[[nodiscard]] std::string limit_text(const std::optional<RateLimit>& limit);
// "0x8001"
[[nodiscard]] std::string hex_text(const std::optional<std::uint16_t>& number);
template <typename Number>
[[nodiscard]] std::string number_text(const std::optional<Number>& number)
{
    return number ? fmt::to_string(*number) : "";
}

}    // namespace rdmaqos::ctl
