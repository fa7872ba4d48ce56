// The traffic classes of a port as lib/model schedules by them, of what the port is set to. Pure.
#pragma once

#include "lib/dcb/port_settings.h"
#include "lib/model/port_classes.h"

namespace rdmaqos::port_classes {

// Without ETS, all are in class 0. A class that is served as the vendor does (what mlx5 has at first), or by credits,
// counts as one of weight 100: among such classes alone these are equal parts, and beside others an assumption.
[[nodiscard]] PortClasses scheduling_of(const dcb::PortSettings& settings);

}    // namespace rdmaqos::port_classes
