// The RDMA devices of this host as sysfs shows them: names, ports, link, addresses, and what kind of function each is.
// Reading only; `sys` is /sys, or where SYSFS_PATH points, as for libibverbs.
//
// What is not there is left out. What only cannot be read for want of descriptors or memory is an error (Busy), lest a
// device be taken for one that has gone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "lib/nic/backend.h"

namespace rdmaqos::mlx5 {

[[nodiscard]] std::filesystem::path sysfs_root();

// Every port of every RDMA device, of any driver, by name.
[[nodiscard]] Result<std::vector<DeviceInfo>> list_ports(const std::filesystem::path& sys);
// One port; nothing if it is not there (any more).
[[nodiscard]] Result<std::optional<DeviceInfo>> read_port(const std::filesystem::path& sys, const std::string& name,
                                                          std::uint32_t port);

// The RDMA device behind a uverbs character device ("mlx5_0"); empty: the number is none's.
[[nodiscard]] Result<std::string> device_of_number(const std::filesystem::path& sys, dev_t number);

// An entry of a port's table; nothing if it has none there.
[[nodiscard]] Result<std::optional<Gid>> read_gid(const std::filesystem::path& sys, const std::string& device,
                                                  std::uint32_t port, std::uint32_t index);
[[nodiscard]] Result<std::optional<std::uint16_t>>
read_pkey(const std::filesystem::path& sys, const std::string& device, std::uint32_t port, std::uint32_t index);

// Unsupported: the port does not count.
[[nodiscard]] Result<PortCounters> read_counters(const std::filesystem::path& sys, const std::string& device,
                                                 std::uint32_t port);

// "100 Gb/sec (4X EDR)" and "2.5 Gb/sec"; zero if it is neither.
[[nodiscard]] Bandwidth parse_link_rate(std::string_view text);

}    // namespace rdmaqos::mlx5
