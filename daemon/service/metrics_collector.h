// What there is to count, put together for all who ask at a time; and what the service and its transports count
// themselves.
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
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/host_view.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/session_table.h"

namespace rdmaqos {

class MetricsCollector {
public:
    // All must outlive it.
    MetricsCollector(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices,
                     const SessionTable& sessions, HostView& host);

    // Asks the ports, and the kernel for all queue pairs; who does not answer soon is left out.
    void collect(LoopCallback<void(Metrics)> done);

    [[nodiscard]] const ServiceCounters& tally() const { return tally_; }
    [[nodiscard]] TransportCounters& transports() { return transports_; }
    void session_registered() { ++tally_.sessions; }
    void policy_accepted_at_start();
    void reload_answered(bool accepted, Duration took);
    // The callback, which then also notes the time from now to its call.
    template <typename T>
    [[nodiscard]] Callback<T> timed(Histogram ServiceCounters::*histogram, Callback<T> done)
    {
        return [this, histogram, started = context_.clock.now(), done = std::move(done)](Result<T> result) {
            (tally_.*histogram).observe(context_.clock.now() - started);
            done(std::move(result));
        };
    }

private:
    void finish(std::uint64_t collection);
    [[nodiscard]] Metrics all() const;

    ServiceContext& context_;
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
    const SessionTable& sessions_;
    HostView& host_;
    const WallTime started_at_;
    ServiceCounters tally_;
    TransportCounters transports_;
    // The collection that is being made, for all who have asked since it began.
    std::uint64_t collection_ = 0;    // never reused
    std::vector<LoopCallback<void(Metrics)>> waiting_;
    std::map<std::string, PortCounters> ports_;
    std::optional<HostCounts> host_counts_;
    std::unique_ptr<Timer> patience_;
    // Ports that have not answered yet, in whatever collection: a hung device is not asked twice.
    std::set<std::string> asked_;
};

}    // namespace rdmaqos
