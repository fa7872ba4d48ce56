// The counters of a network interface as its driver names them (`ethtool -S`).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rdmaqos::port_bytes {

struct Counter {
    std::string name;    // "tx_prio3_bytes"
    std::uint64_t value = 0;

    friend bool operator==(const Counter&, const Counter&) = default;
};

// Of an interface of this network namespace, from the kernel, which needs no privilege; empty: it has none. An mlx5
// device answers some tens of commands for it.
[[nodiscard]] std::vector<Counter> read_counters(const std::string& interface);

}    // namespace rdmaqos::port_bytes
