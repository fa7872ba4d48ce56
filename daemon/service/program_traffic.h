// What programs send and receive, by the kernel's counters of queue pairs: of sessions, and of others that somebody has
// bound counters to.
//
// Thread: the main loop.
#pragma once

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
    // All must outlive it.
    ProgramTraffic(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices);

    // Of all managed ports, by key. With `queue-pair-counters: bind`, counters are bound to queue pairs of sessions
    // before they are read.
    void read(Callback<std::vector<CountersOfPort>> done);
    // Of all that was read.
    [[nodiscard]] const TrafficTotals& totals() const { return totals_; }

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
