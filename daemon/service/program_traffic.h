// What programs send and receive, by the kernel's counters of queue pairs: of sessions, and of others that somebody has
// bound counters to.
//
// Thread: the main loop.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/loop/callback.h"
#include "daemon/model/counted_traffic.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/traffic_totals.h"
#include "daemon/survey/shared_look.h"

namespace rdmaqos {

class ProgramTraffic {
public:
    // Of a port: binding a counter to a queue pair costs the device a command or two.
    static constexpr std::size_t kMostCounted = 4096;

    // All must outlive it.
    ProgramTraffic(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices);

    // Of all managed ports, by key. With `queue-pair-counters: bind`, counters are bound to queue pairs of sessions
    // before they are read.
    void read(Callback<std::vector<CountersOfPort>> done);
    // Of all that was read.
    [[nodiscard]] const TrafficTotals& totals() const { return totals_; }

    // A port with the queue pairs to which counters are to be bound: those of one session in one leaf share one.
    [[nodiscard]] static PortToCount port_to_bind(const ManagedDevice& device);
    // What to do about it, in words; nothing else is to be said of a port with this hindrance.
    [[nodiscard]] static std::string why_hindered(const CountedPort& port);

private:
    [[nodiscard]] std::vector<PortToCount> ports() const;
    [[nodiscard]] CountersOfPort describe(const CountedPort& port) const;
    [[nodiscard]] std::string why_not_all(const CountedPort& port, const CountersOfPort& counters) const;

    ServiceContext& context_;
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
    TrafficTotals totals_;
    SharedLook<CountedTraffic> look_;
};

}    // namespace rdmaqos
