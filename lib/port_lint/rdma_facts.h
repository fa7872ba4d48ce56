// What sysfs, configfs and debugfs say of the RDMA ports of a host. Reading only: a
// setting of rdma_cm that nobody has made stays unmade.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lib/port_bytes/port_bytes.h"
#include "lib/port_lint/values.h"

namespace rdmaqos::port_lint {

// An RDMA port with a network interface (RoCE), with all but its DCB settings, counters and what the policy says.
struct FoundPort {
    Interface interface;
    std::string pci_address;    // "0000:3b:00.0"; empty: not on PCI
};

// All of the host, by device and port. `root` is "/"; what is not there or cannot be read is left out.
[[nodiscard]] std::vector<FoundPort> find_ports(const std::filesystem::path& root);

// Those with RoCE whose interface nobody can name, as "mlx5_0/1": it is in another network namespace, or has no GID
// yet.
[[nodiscard]] std::vector<std::string> find_ports_without_interface(const std::filesystem::path& root);

// The RDMA ports on InfiniBand, likewise, by name alone.
[[nodiscard]] std::vector<FoundPort> find_infiniband_ports(const std::filesystem::path& root);

// Of a port that belongs to this interface.
[[nodiscard]] RdmaFacts read_rdma_facts(const std::filesystem::path& root, const std::string& device,
                                        std::uint32_t port, const std::string& interface,
                                        const std::string& pci_address);

// Empty: the driver does not count by priority and RDMA. Pure.
[[nodiscard]] std::optional<SentBytes> sent_bytes(std::span<const port_bytes::Counter> counters);

}    // namespace rdmaqos::port_lint
