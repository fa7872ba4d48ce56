// Words that plans, steps and their drawings have in common. Not for users of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dcb/port_settings.h"

namespace rdmaqos::port_classes {

// Ascending numbers: "24, 25, 27 to 31"
[[nodiscard]] std::string ranges_in_words(const std::vector<std::uint8_t>& numbers);

// "UDP port 4791"
[[nodiscard]] std::string in_words(dcb::Selector selector, std::uint16_t protocol);

}    // namespace rdmaqos::port_classes
