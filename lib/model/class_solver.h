// Who gets what below the traffic classes of a port (port_classes.h): the solver of solver.h with classes above the
// trees. All classes of one rank are filled at the same time, each by its weight, and in each the elements of the tree
// by their shares, until something is full: a leaf has what it asks for, an element its cap (over all classes), a class
// its maximum rate, or the link its speed. What is full gets no more, and the others go on with its part.
//
//     link 400                              asked       gets
//     ├── class 1  weight 70                unlimited   280
//     │   └── /pid:17/heavy                 unlimited   280
//     └── class 2  weight 30                unlimited   120
//         ├── /pid:18/light  share 3        unlimited    90
//         └── /pid:19/light  share 1        unlimited    30
//
// With everything in one class that has no maximum rate, solve() of solver.h says the same. Each time something gets
// full is a pass over all elements. Rates are doubles in kbit/s. Pure.
#pragma once

#include <cstdint>
#include <map>

#include "lib/base/units.h"
#include "lib/model/port_classes.h"
#include "lib/model/solver.h"
#include "lib/tree/element.h"

namespace rdmaqos {

// By class: what the queue pairs of each leaf would send in it if nothing held them, as Demands has it.
using ClassDemands = std::map<std::uint8_t, Demands>;

struct ClassAllocations {
    std::map<std::uint8_t, Allocation> classes;    // that were asked for
    Allocations elements;                          // in all classes together
    // Of those that send in the class.
    std::map<std::uint8_t, std::map<ElementPath, double>> kbps_in_class;
};

[[nodiscard]] ClassAllocations solve(const Tree& tree, Bandwidth link_speed, const PortClasses& port,
                                     const ClassDemands& demands);

}    // namespace rdmaqos
