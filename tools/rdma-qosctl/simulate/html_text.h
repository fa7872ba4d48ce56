// What all parts of the page are made of.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "tools/rdma-qosctl/simulate/simulation.h"

namespace rdmaqos::ctl::page {

// Text for an element or an attribute in quotes; control characters and broken UTF-8 as printable() shows them.
[[nodiscard]] std::string escaped(std::string_view text);

// The colour of each level, an index into the page's palette: the same for a level everywhere on a device.
constexpr std::size_t kColours = 8;
using LevelColours = std::map<std::string, std::size_t>;
[[nodiscard]] LevelColours colours_of(const SimulatedPort& port);

}    // namespace rdmaqos::ctl::page
