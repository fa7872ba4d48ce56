// Values of a dictionary as texts of a table; empty where the key is absent.
#pragma once

#include <string>
#include <string_view>

#include "lib/bus/value.h"

namespace rdmaqos::ctl {

// "5 Gbit/s"
[[nodiscard]] std::string rate_text(const bus::Dict& dict, std::string_view key);
// "5 Gbit/s; burst: device default, packet: 1 KiB" of a queue pair's own limit.
[[nodiscard]] std::string limit_text(const bus::Dict& dict, const std::string& prefix, std::string_view rate_key);
[[nodiscard]] std::string number_text(const bus::Dict& dict, std::string_view key);
// "0x8001"
[[nodiscard]] std::string hex_text(const bus::Dict& dict, std::string_view key);

}    // namespace rdmaqos::ctl
