// Inside plan(): which priority each DSCP of a group gets, and which class each group. Not for users of this folder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "lib/dcb/port_settings.h"
#include "lib/port_classes/groups.h"
#include "lib/port_classes/rules.h"

namespace rdmaqos::port_classes {

struct PlacedGroup {
    std::uint8_t traffic_class = 0;
    std::map<std::uint8_t, std::uint8_t> priority_of_dscp;
    std::vector<std::uint8_t> no_longer_lossless;    // DSCPs
    std::vector<std::uint8_t> now_lossless;
};

// In the order of the groups. A DSCP that was lossless keeps its priority, unless another group has that: then it gets
// another lossless one that nobody uses. The other DSCPs get the priority that one of them had, else the lowest one
// that is free: not lossless, and without entries for what is not ours.
//
// `wishes`: the priority that a group has if it is free; 0: none. The class has the number of the priority where the
// port has a class for each; else classes are numbered from 1 on.
[[nodiscard]] std::vector<PlacedGroup> place_groups(const std::vector<Group>& groups,
                                                    const std::vector<std::uint8_t>& wishes,
                                                    const dcb::PortSettings& before, const Rules& rules);

}    // namespace rdmaqos::port_classes
