// A link's speed as InfiniBand states it: lanes times signalling rate. Ethernet ports of mlx5 use the same words.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/units.h"

namespace rdmaqos::emulator {

struct LinkEncoding {
    std::uint8_t width = 2;    // of the port attributes: 1 = 1X, 2 = 4X, 4 = 8X, 8 = 12X, 16 = 2X
    std::uint8_t speed = 32;
    std::string text;    // of sysfs: "100 Gb/sec (4X EDR)"
};

// The encoding of exactly this speed, 4X before others; else 4X of the next slower one. Slower than all of those: 1X of
// the slowest, and the text says the speed.
[[nodiscard]] LinkEncoding encode_link(Bandwidth speed);

}    // namespace rdmaqos::emulator
