// What each class and each responder of a tree gets when every leaf of it sends as much as it gets, and how that
// changes from one tree to another: the part of a plan that an administrator approves.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "lib/base/units.h"
#include "lib/tree/element.h"

namespace rdmaqos {

// Empty: the element is not in that tree.
struct BusyRate {
    std::optional<Bandwidth> before;
    std::optional<Bandwidth> after;

    friend bool operator==(const BusyRate&, const BusyRate&) = default;
};

// Of the elements asked for that are in one of the trees. One that is not, but has leaves below its path (it was
// folded), gets what these get together.
[[nodiscard]] std::map<ElementPath, BusyRate>
compare_busy_rates(const Tree& before, const Tree& after, Bandwidth link_speed, const std::set<ElementPath>& elements);

}    // namespace rdmaqos
