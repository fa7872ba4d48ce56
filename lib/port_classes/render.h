// The plan of a port's classes as text for people.
#pragma once

#include <string>
#include <vector>

#include "lib/dcb/port_settings.h"
#include "lib/port_classes/plan.h"
#include "lib/port_classes/steps.h"

namespace rdmaqos::port_classes {

// A line for each class that is in use, before and after:
//
//     class  weight       cap                        DSCP     what
//     0      100 % -> 5 %  unlimited                           everything else
//     1      - -> 67 %     unlimited -> 40 Gbit/s    26, 28   /rpc (levels rpc, web)
//     6      strict        unlimited                 48       congestion notifications
[[nodiscard]] std::string render_classes(const dcb::PortSettings& before, const Plan& plan);

// A line for each step: "maps DSCP 10 to priority 3; this takes the link down and up". Entries of the
// application table that are set to the same priority are one line.
[[nodiscard]] std::string render_steps(const std::vector<Step>& steps);

}    // namespace rdmaqos::port_classes
