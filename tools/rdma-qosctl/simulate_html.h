// A simulation as one HTML page that needs nothing else: no script, no font, no image, no network. Well-formed XML as
// well. Every name is escaped.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tools/rdma-qosctl/simulate.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string simulation_page(const SimulationReport& report);

namespace page {

// Text for an element or an attribute in quotes; control characters and broken UTF-8 as printable() shows them.
[[nodiscard]] std::string escaped(std::string_view text);

// The colour of each level, an index into the page's palette: the same for a level everywhere on a device.
constexpr std::size_t kColours = 8;
using LevelColours = std::map<std::string, std::size_t>;
[[nodiscard]] LevelColours colours_of(const SimulatedPort& port);

// simulate_html_style.cpp
[[nodiscard]] std::string_view style_sheet();
// simulate_html_tree.cpp: the tree of one step with a bar for each element.
[[nodiscard]] std::string tree(const SimulatedStep& step, Bandwidth link_speed, const LevelColours& colours);
// simulate_html_chart.cpp: who gets what over all steps, stacked.
[[nodiscard]] std::string chart(const SimulatedPort& port, const LevelColours& colours);

}    // namespace page
}    // namespace rdmaqos::ctl
