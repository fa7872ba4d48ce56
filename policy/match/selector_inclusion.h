// What lists of device selectors have to do with each other, as glob_inclusion.h says it of names.
#pragma once

#include <span>
#include <string_view>

#include "policy/match/effort.h"
#include "policy/model/device_selector.h"

namespace rdmaqos {

using Selectors = std::span<const DeviceSelector>;

// Whatever device `narrow` selects, `wide` selects. False: not so, or not known, as with two selectors that only
// together select all that one does.
[[nodiscard]] bool surely_includes(Selectors wide, Selectors narrow, Effort& effort);

// A device that is selected, with `for_star` in the place of each "*" of a name.
[[nodiscard]] DeviceNames example_of(const DeviceSelector& selector, std::string_view for_star);

}    // namespace rdmaqos
