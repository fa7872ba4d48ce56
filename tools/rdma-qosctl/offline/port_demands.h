// What a policy asks of a port, as the lint of ports takes it.
#pragma once

#include <filesystem>
#include <string>

#include "lib/port_lint/rdma_facts.h"
#include "lib/port_lint/values.h"
#include "policy/model/device_selector.h"
#include "policy/model/policy.h"

namespace rdmaqos::ctl {

// Why no port of a host can be found below this root ("/"), a sentence without a full stop; empty: they can.
[[nodiscard]] std::string why_no_ports(const std::filesystem::path& root);

// The names by which a policy selects a port of the host. Its link speed is 0 while that is not known.
[[nodiscard]] DeviceNames names_of_port(const port_lint::FoundPort& port);

// Sets the levels and the children of the tree's root. Levels that have no class on this device, and mark nothing, are
// left out; so is the class of a level that is only monitored. Parts are of the interface's link.
void set_demands(port_lint::Interface& port, const Policy& policy, const DeviceNames& device);

}    // namespace rdmaqos::ctl
