// The steps that set a port's traffic classes as commands of dcb(8), for administrators who set them themselves.
#pragma once

#include <string>
#include <vector>

#include "lib/port_classes/steps.h"

namespace rdmaqos::port_classes {

// For one shell, in the order of the steps: "dcb app add dev ens1 dscp-prio 26:3 28:3". Neighbouring entries of the
// application table that are added, or deleted, are one command. dcb(8) has no command for a class that the driver's
// vendor schedules: such a class of `ets set` is left out, and so keeps what it has. Maximum rates have the unit that
// the installed dcb(8) takes for kbit/s, which the command before them finds out.
[[nodiscard]] std::vector<std::string> dcb_commands(const std::string& interface, const std::vector<Step>& steps);

}    // namespace rdmaqos::port_classes
