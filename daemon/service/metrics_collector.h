// All there is to count at a moment, put together for all who ask at a time.
//
// Thread: the main loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/loop/callback.h"
#include "daemon/model/metrics.h"
#include "daemon/service/adoption.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/host_view.h"
#include "daemon/service/managed_ports.h"
#include "daemon/service/marks.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/program_traffic.h"
#include "daemon/service/session_table.h"
#include "daemon/service/tally.h"
#include "daemon/service/trial_in_force.h"

namespace rdmaqos {

class MetricsCollector {
public:
    // All must outlive it.
    MetricsCollector(ServiceContext& context, const PolicyInForce& policy, const TrialInForce& trial,
                     const DeviceTable& devices, const SessionTable& sessions, HostView& host, const Adoption& adoption,
                     const ManagedPorts& ports, Marks& marks, ProgramTraffic& traffic, const Tally& tally);

    // Asks the ports, the devices for marks, and the kernel for all queue pairs and their counters; who does not answer
    // soon is left out.
    void collect(LoopCallback<void(Metrics)> done);

private:
    void finish(std::uint64_t collection);
    [[nodiscard]] Metrics all() const;

    ServiceContext& context_;
    const PolicyInForce& policy_;
    const TrialInForce& trial_;
    const DeviceTable& devices_;
    const SessionTable& sessions_;
    HostView& host_;
    const Adoption& adoption_;
    const ManagedPorts& managed_ports_;
    Marks& marks_;
    ProgramTraffic& traffic_;
    const Tally& tally_;
    const WallTime started_at_;
    // The collection that is being made, for all who have asked since it began.
    std::uint64_t collection_ = 0;    // never reused
    std::vector<LoopCallback<void(Metrics)>> waiting_;
    std::map<std::string, PortCounters> ports_;
    std::optional<HostCounts> host_counts_;
    std::map<std::string, std::size_t> counted_;    // queue pairs of ports
    std::unique_ptr<Timer> patience_;
    // Ports that have not answered yet, in whatever collection: a hung device is not asked twice.
    std::set<std::string> asked_;
};

}    // namespace rdmaqos
