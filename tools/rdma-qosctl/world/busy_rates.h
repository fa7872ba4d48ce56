// What each leaf gets when every leaf that holds queue pairs sends as much as it can. In attach mode per-process this
// assumes that the port serves the processes' trees in equal parts; with traffic classes of the port, that the queue
// pairs of a level are in the class of its DSCP, and that a class serves the trees as a port without classes does.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/units.h"
#include "lib/model/port_classes.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// A traffic class of the port in which somebody sends.
struct BusyClass {
    std::uint8_t number = 0;
    PortClass port_class;
    std::vector<std::string> levels;
    Bandwidth gets;
};

struct BusyRates {
    std::map<std::string, Bandwidth> leaves;    // by path
    std::vector<BusyClass> classes;             // by number; none: the port divides nothing, or is not known
};
[[nodiscard]] BusyRates busy_rates(const World& world, const DeviceView& device);

}    // namespace rdmaqos::ctl
