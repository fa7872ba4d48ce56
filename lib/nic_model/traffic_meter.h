// Port counters of a port that moves a constant traffic: what a model NIC says it has sent and received.
//
// Pure: the caller says what time it is. Counts exactly: bytes are computed from the last change of the traffic, not
// summed up over the readings.
#pragma once

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/nic/backend.h"

namespace rdmaqos {

struct PortTraffic {
    Bandwidth transmit;
    Bandwidth receive;

    friend bool operator==(const PortTraffic&, const PortTraffic&) = default;
};

class TrafficMeter {
public:
    // From `now` on the port moves this.
    void change(const PortTraffic& traffic, TimePoint now);
    // Counts from zero again.
    void restart(TimePoint now);
    [[nodiscard]] PortCounters read(TimePoint now) const;

private:
    PortTraffic traffic_;
    PortCounters before_;    // at the last change
    TimePoint since_{};      // of the last change
};

}    // namespace rdmaqos
