// What is known of the bytes that a port moves with each priority.
#pragma once

#include <optional>

#include "daemon/model/metrics.h"
#include "lib/base/clock.h"
#include "lib/port_bytes/port_bytes.h"

namespace rdmaqos {

struct PortTrafficStatus {
    port_bytes::PortBytes total;    // since a moment of the driver's choosing
    WallTime read_at{};
    // Between the last two readings; empty: there was one only, or the counters have started again.
    std::optional<port_bytes::PortBytes> moved{};
    Duration over{};

    friend bool operator==(const PortTrafficStatus&, const PortTrafficStatus&) = default;
};

}    // namespace rdmaqos
