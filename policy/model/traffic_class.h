#pragma once

#include <cstdint>

namespace rdmaqos {

// The upper 6 bits of the traffic class of a RoCE packet; the lower two are those of ECN.
[[nodiscard]] constexpr std::uint8_t dscp_of(std::uint8_t traffic_class)
{
    return static_cast<std::uint8_t>(traffic_class >> 2U);
}

}    // namespace rdmaqos
