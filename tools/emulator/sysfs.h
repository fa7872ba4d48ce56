// The part of /sys that libibverbs, rdma-core's tools and rdma-qosd read, as files (SYSFS_PATH).
//
//     devices/PCI/{modalias,vendor,device,resource0,infiniband/NAME,infiniband_verbs/uverbsN,net/NETDEV}
//     devices/PCI/physfn                              of a virtual function: a link to devices/PCI of the physical one
//     devices/PCI/net/NETDEV/master                   a link to the bond it is in
//     devices/virtual/net/BOND/bonding/slaves
//     class/{infiniband,infiniband_verbs,net}/...     links to those
#pragma once

#include <chrono>
#include <filesystem>
#include <span>

#include "tools/emulator/device.h"

namespace rdmaqos::emulator {

// "devices/pci0000:00/0000:08:00.0"
[[nodiscard]] std::filesystem::path place_below_sys(const Device& device);
// Of the netdev of a port (1...): as `ifindex` says.
[[nodiscard]] unsigned interface_index(const Device& device, std::uint32_t port);

// Each throws std::filesystem::filesystem_error or std::runtime_error when it cannot write.
void begin_sysfs(const std::filesystem::path& sys);
void write_sysfs(const std::filesystem::path& sys, const Device& device);
// Those of before are gone.
void write_pkeys(const std::filesystem::path& sys, const Device& device, std::uint32_t port);
void write_port_state(const std::filesystem::path& sys, const Device& device, std::uint32_t port);
// What the data path has moved, by port. The counters of a port that is down stay.
void write_counters(const std::filesystem::path& sys, const Device& device, std::span<const PortTraffic> moved);
void remove_sysfs(const std::filesystem::path& sys, const Device& device);

}    // namespace rdmaqos::emulator
