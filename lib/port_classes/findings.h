// Inside plan(): what is found without choosing weights. Not for users of this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/dcb/port_settings.h"
#include "lib/port_classes/groups.h"
#include "lib/port_classes/plan.h"

namespace rdmaqos::port_classes {

// Deviations from what is wanted, in parts of it, that are no finding.
inline constexpr double kTolerated = 0.05;

// Which packets have no class of their own, and why: children and levels without a DSCP, with one that others have, and
// more children than classes. `classes`: of the port.
void report_marks(const Requests& requests, const std::vector<Group>& groups, std::uint8_t classes,
                  std::vector<Finding>& findings);

// Of a port that is left as it is, because the scheduling tree divides it: whether its classes divide it otherwise.
[[nodiscard]] Plan left_to_the_tree(const Requests& requests, const dcb::PortSettings& before, const Options& options);

}    // namespace rdmaqos::port_classes
