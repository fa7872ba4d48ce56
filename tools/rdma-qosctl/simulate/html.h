// A simulation as one HTML page that needs nothing else: no script, no font, no image, no network. Well-formed XML as
// well. Every name is escaped.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "lib/base/units.h"
#include "tools/rdma-qosctl/simulate/simulation.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string simulation_page(const SimulationReport& report);

}    // namespace rdmaqos::ctl

namespace rdmaqos::ctl::page {

// The page's style sheet.
[[nodiscard]] std::string_view style_sheet();

// Text for an element or an attribute in quotes; control characters and broken UTF-8 as printable() shows them.
[[nodiscard]] std::string escaped(std::string_view text);

// The colour of each level, an index into the page's palette: the same for a level everywhere on a device.
constexpr std::size_t kColours = 8;
using LevelColours = std::map<std::string, std::size_t>;
[[nodiscard]] LevelColours colours_of(const SimulatedPort& port);

// The tree of one step with a bar for each element.
[[nodiscard]] std::string tree(const SimulatedStep& step, Bandwidth link_speed, const LevelColours& colours);

// Who gets what over all steps, stacked.
[[nodiscard]] std::string chart(const SimulatedPort& port, const LevelColours& colours);

}    // namespace rdmaqos::ctl::page
