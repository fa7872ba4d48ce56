// Who gets what: the rates a work-conserving weighted scheduling tree converges to under a given load. This is
// hierarchical weighted max-min fairness with caps:
//
//   * what an element asks for is the smaller of its cap and its children's sum (of a leaf: its demand);
//   * a node's rate is divided among its children by their shares; a child that asks for less than its part gets what
//     it asks for, and what it leaves is divided among the others by their shares.
//
//     link 10 Gbit/s                       asked        gets
//     └── /                                unlimited    10
//         ├── /g1  share 7                 unlimited    7       (7/10 of the link)
//         └── /g2  share 3  max 4.096      4.096        3       (3/10; its cap is not reached)
//
// Exact up to rounding: one pass up and one pass down, O(n log n) for n elements. Rates are doubles in kbit/s; sums
// agree with the link to 1e-9 of its speed. Share 0, the device's default, counts as 1, as devices do not tell its
// value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "lib/base/units.h"
#include "lib/tree/element.h"

namespace rdmaqos {

// What each leaf's queue pairs would send if nothing held them; an empty rate: as much as they get. Leaves that are not
// listed send nothing. Entries of other elements are ignored.
using Demands = std::map<ElementPath, std::optional<Bandwidth>>;

// Every leaf of the tree sends as much as it gets.
[[nodiscard]] Demands all_backlogged(const Tree& tree);

// A share of 0 competes with other shares, so that what is solved depends on its being counted as 1.
[[nodiscard]] bool guesses_shares(const Tree& tree);

enum class Bottleneck : std::uint8_t {
    Demand,    // gets all it asks for
    Cap,       // the max_rate of the element at `bottleneck_at`, its own or one above
    Link,      // the port's speed
    Class,     // the maximum rate of the traffic class `bottleneck_class` of the port (class_solver.h)
};

struct Allocation {
    double kbps = 0;
    Bottleneck bottleneck = Bottleneck::Demand;
    ElementPath bottleneck_at;    // of a cap; empty otherwise
    std::uint8_t bottleneck_class = 0;

    // Rounded down to whole kbit/s (after 1e-3 kbit/s of tolerance, so that thirds that add up stay whole).
    [[nodiscard]] Bandwidth rate() const;
};

using Allocations = std::map<ElementPath, Allocation>;

// One entry per element of the tree that hangs from its root; an empty tree has none.
[[nodiscard]] Allocations solve(const Tree& tree, Bandwidth link_speed, const Demands& demands);

}    // namespace rdmaqos
