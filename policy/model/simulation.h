// Simulated devices of `rdma-qosd --simulate DEVICES.yaml`: a list of ports and what their model NIC can do. Keys that
// are absent keep the default profile (a ConnectX-6 Dx: 256 leaves, 4 levels, shares to 100, 8192 elements).
#pragma once

#include <string>
#include <vector>

#include "lib/base/net.h"
#include "lib/base/units.h"
#include "lib/tree/capabilities.h"

namespace rdmaqos {

struct SimulatedDevice {
    std::string name;    // "mlx5_0"
    std::uint32_t port = 1;
    Guid node_guid;
    Guid port_guid;
    std::string netdev;
    std::string pci_address;
    bool virtual_function = false;    // of a PCI function that is not among the devices
    std::string bond;                 // the netdev's master; empty: none
    bool infiniband = false;
    Bandwidth link_speed;
    std::uint32_t mtu = 4096;
    std::vector<Gid> gids;
    std::vector<std::uint16_t> pkeys;
    std::string node_description;
    // What the port moves all the time: its counters advance by it.
    Bandwidth transmit_traffic;
    Bandwidth receive_traffic;
    bool port_counters = true;    // false: as a port that does not count
    Capabilities capabilities;
};

}    // namespace rdmaqos
