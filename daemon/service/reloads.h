// Reading the host's files: at the start, and each time a reload is asked for, one after another.
#pragma once

#include <deque>
#include <memory>
#include <optional>
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

    // Service::read_files(), Service::start()
    void read_files();
    [[nodiscard]] ReloadOutcome start();
    // The one in force; between the two, the one that start() will try. Null: there is none.
    [[nodiscard]] std::shared_ptr<const Policy> policy_to_run() const;
    // Service::reload()
    void reload(LoopCallback<void(ReloadOutcome)> done);

private:
    // Null: there is none.
    [[nodiscard]] std::shared_ptr<const Policy> last_good(const Loaded& loaded) const;
    [[nodiscard]] std::optional<Staged> try_first(const std::shared_ptr<const Policy>& policy, const Loaded& loaded,
                                                  const Scene& scene) const;
    // False: it is the last good one, in place of the newest.
    void run_first(Staged staged, bool is_newest);
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
    // What was read first, until start() has tried it.
    struct FirstReading {
        Loaded loaded;
        std::shared_ptr<const Policy> last_good;
    };
    std::optional<FirstReading> first_;
    std::deque<Pending> pending_;    // the first is being served
    TimePoint started_{};
};

}    // namespace rdmaqos
