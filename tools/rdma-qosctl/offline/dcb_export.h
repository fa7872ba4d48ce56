// The policy as traffic classes of a host's Ethernet ports, for administrators who set them themselves. Pure.
#pragma once

#include <string>
#include <vector>

#include "lib/dcb/port_settings.h"
#include "lib/port_classes/plan.h"
#include "lib/port_classes/steps.h"
#include "policy/model/device_selector.h"
#include "policy/model/policy.h"
#include "policy/model/settings.h"

namespace rdmaqos::ctl {

struct PortExport {
    std::string interface;
    dcb::PortSettings before;
    port_classes::Plan plan;
    std::vector<port_classes::Step> steps;    // none: the port is as planned
    bool is_kept = false;                     // a running daemon sets these classes, and sets them again
};

// `driver`: of the interface, "mlx5_core".
[[nodiscard]] PortExport export_port(const Policy& policy, const Settings& settings, const DeviceNames& device,
                                     const std::string& driver, const dcb::PortSettings& before);

// A script of dcb(8), with comments: what each class is for, what the port cannot do, what each step disturbs.
[[nodiscard]] std::string to_script(const PortExport& port);

}    // namespace rdmaqos::ctl
