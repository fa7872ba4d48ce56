// Trees and plans as text for people. Plain text; the caller adds colour to nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "lib/tree/described_plan.h"
#include "lib/tree/element.h"
#include "lib/tree/plan.h"
#include "lib/tree/requested.h"

namespace rdmaqos {

// An ASCII/Unicode drawing, one line per element:
//
//     /
//     ├── tenants              share 70   max 80 Gbit/s
//     │   └── rpc              share 1
//     │       ├── pid:4711     share 1                     8 queue pairs
//     │       └── others       share 1
//     └── bulk                 share 30
//
// `note` adds a last column (for example the solver's answer); it may be empty. Of more than `principals_shown` leaves
// beside an `others`, the rest is one line "... 240 more"; 0 shows all. Where the policy requested something else than
// the weight, that comes first: "min-rate 60 Gbit/s (weight 3 of 8)".
[[nodiscard]] std::string render_tree(const DesiredState& state,
                                      const std::function<std::string(const ElementPath&)>& note = {},
                                      std::size_t principals_shown = 0, const RequestedRates& requested = {});

// The same tree with what a plan does to it: "+" created, "-" destroyed, "~" changed ("share 60 -> 40"), " " unchanged,
// and queue pairs that move. Says so where the device's default share, which it does not tell, stands beside other
// shares. Ends with a summary line "3 operations: 1 created, 1 changed, 1 destroyed; 4 queue pairs move".
[[nodiscard]] std::string render_plan(const DescribedPlan& plan);
[[nodiscard]] std::string render_plan(const ActualState& before, const Plan& plan);

// One line per operation, in order: "modify /tenants/rpc: share 60 -> 40".
[[nodiscard]] std::string render_operations(const ActualState& before, const Plan& plan);

}    // namespace rdmaqos
