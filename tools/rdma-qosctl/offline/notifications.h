// The DSCP with which a NIC sends congestion notifications (CNP), as far as this host tells it.
#pragma once

#include <filesystem>
#include <string>

#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// Sets `cnp_dscp` of the devices whose traffic classes were read: what the driver says in files below `host` ("/"),
// else what the daemon uses, else, of a port that it does not set, `cnp-dscp` of the settings below `root`. Simulated
// devices have no such files.
void find_notifications(World& world, const std::string& root, const std::filesystem::path& host = "/");

}    // namespace rdmaqos::ctl
