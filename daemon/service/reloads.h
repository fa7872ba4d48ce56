// Reading the host's files: at the start, and each time a reload is asked for, one after another.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/metrics_collector.h"
#include "daemon/service/policy_changes.h"
#include "daemon/service/policy_in_force.h"

namespace rdmaqos {

class Reloads {
public:
    // All must outlive it.
    Reloads(ServiceContext& context, PolicyInForce& policy, DeviceTable& devices, SessionTable& sessions,
            PolicyChanges& changes, MetricsCollector& metrics)
        : context_(context), policy_(policy), devices_(devices), sessions_(sessions), changes_(changes),
          metrics_(metrics)
    {
    }

    // Service::start()
    [[nodiscard]] ReloadOutcome start();
    // Service::reload()
    void reload(LoopCallback<void(ReloadOutcome)> done);

private:
    [[nodiscard]] std::shared_ptr<const Policy> last_good(const Fabric& fabric) const;
    void next();
    void test_devices(Result<std::shared_ptr<Tried>> tried);
    void finish(Result<std::shared_ptr<Tried>> tried);
    void take(const Result<std::shared_ptr<Tried>>& tried);
    void answer(const ReloadOutcome& outcome);
    void remember(const ReloadOutcome& outcome);

    ServiceContext& context_;
    PolicyInForce& policy_;
    DeviceTable& devices_;
    SessionTable& sessions_;
    PolicyChanges& changes_;
    MetricsCollector& metrics_;
    struct Pending {
        std::vector<LoopCallback<void(ReloadOutcome)>> waiting;
    };
    std::deque<Pending> pending_;    // the first is being served
    TimePoint started_{};
};

}    // namespace rdmaqos
