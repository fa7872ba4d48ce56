// What is known of the traffic classes of a device's port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/model/metrics.h"
#include "lib/dcb/port_settings.h"

namespace rdmaqos {

enum class PortReading : std::uint8_t {
    Off,        // the settings say so
    None,       // it has no traffic classes: no network interface, InfiniBand, or a driver without DCB
    Pending,    // the kernel has not answered yet
    Read,
    Failed,
};
[[nodiscard]] std::string_view to_string(PortReading reading);

// The last change of a port, as far as the kernel's notification says.
struct PortChange {
    WallTime at{};
    std::string by;    // "the driver or its firmware"

    friend bool operator==(const PortChange&, const PortChange&) = default;
};

struct PortStatus {
    PortReading reading = PortReading::Off;
    std::string reason{};            // a sentence, when None or Failed
    std::string netdev{};            // empty: it has none
    std::string driver{};            // of the network interface: "mlx5_core"; when Read
    dcb::PortSettings settings{};    // when Read
    WallTime read_at{};              // when Read
    std::optional<PortChange> last_change{};

    friend bool operator==(const PortStatus&, const PortStatus&) = default;
};

}    // namespace rdmaqos
