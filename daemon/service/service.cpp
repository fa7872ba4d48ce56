#include "daemon/service/service.h"

#include <utility>

#include "daemon/loop/gathering.h"
#include "daemon/service/adaptive_caps.h"
#include "daemon/service/adoption.h"
#include "daemon/service/context.h"
#include "daemon/service/device_control.h"
#include "daemon/service/device_table.h"
#include "daemon/service/fabric_upkeep.h"
#include "daemon/service/grants.h"
#include "daemon/service/host_view.h"
#include "daemon/service/managed_ports.h"
#include "daemon/service/marks.h"
#include "daemon/service/metrics_collector.h"
#include "daemon/service/path_queries.h"
#include "daemon/service/plans.h"
#include "daemon/service/policy_changes.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/program_ends.h"
#include "daemon/service/program_traffic.h"
#include "daemon/service/reloads.h"
#include "daemon/service/session_calls.h"
#include "daemon/service/session_reports.h"
#include "daemon/service/session_table.h"
#include "daemon/service/tally.h"
#include "daemon/service/transient_ends.h"
#include "daemon/service/trial_in_force.h"
#include "daemon/service/trials.h"

namespace rdmaqos {

// The parts, each of which knows only those above it; and which of them gets which event of a device.
struct Service::Parts final : DeviceListener {
    Parts(ServiceOptions options, Executor& executor, const Clock& clock)
        : context(std::move(options), executor, clock), sessions(clock)
    {
    }
    // Devices first: what waits for them is answered.
    ~Parts() override { devices.clear(); }
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;

    void queue_pairs_changed(const std::string& device, const std::vector<std::uint32_t>& numbers) override
    {
        calls.queue_pairs_changed(device, numbers);
    }
    void queue_pairs_vanished(const std::string& device,
                              const std::vector<std::pair<SessionId, std::uint32_t>>& gone) override
    {
        calls.queue_pairs_vanished(device, gone);
    }
    void device_was_reset(const std::string& device, const std::vector<SessionId>& affected) override
    {
        ports.device_was_reset(device);
        calls.device_was_reset(device, affected);
    }
    void device_removed_itself(const std::string& device) override { control.remove_soon(device); }
    void device_status_changed(const std::string& device) override
    {
        grants.device_answered(device);
        caps.look_soon(device);
        context.notify([&](ServiceObserver& observer) { observer.device_changed(device); });
    }
    void device_addresses_changed(const std::string& /*device*/) override { changes.resolve_soon(); }
    void drift_repaired(const std::string& device, std::uint32_t count) override
    {
        context.notify([&](ServiceObserver& observer) { observer.drift_repaired(device, count); });
    }
    void promises_changed(const std::string& /*device*/) override { grants.refresh_all(); }

    // What there is.
    ServiceContext context;
    Tally tally{context};
    PolicyInForce policy;
    TrialInForce trial{context};
    DeviceTable devices;
    SessionTable sessions;
    ManagedPorts ports{context, policy, devices};
    // What is done with it.
    Grants grants{context, devices, sessions};
    AdoptionVerdicts verdicts;
    HostView host{context, devices, sessions, verdicts};
    PolicyChanges changes{context, policy, devices, sessions, grants, ports};
    Reloads reloads{context, policy, devices, sessions, changes, ports, tally, trial};
    Trials trials{context, policy, trial, reloads};
    TransientEnds transient_ends{context, policy, reloads};
    Plans plans{context, policy, devices, changes, ports};
    FabricUpkeep fabric{context, policy, changes};
    DeviceControl control{context, policy, devices, grants, changes, ports, *this};
    SessionCalls calls{context, policy, devices, sessions, grants, tally};
    Adoption adoption{context, policy, devices, sessions, calls, verdicts};
    ProgramEnds ends{context, sessions, calls};
    // What is said of it.
    SessionReports reports{policy, devices, sessions, grants, host};
    PathQueries paths{policy, devices, calls};
    Marks marks{context, policy, devices};
    ProgramTraffic traffic{context, policy, devices};
    AdaptiveCaps caps{context, policy, devices};
    MetricsCollector metrics{context, policy, trial, devices, sessions, host, adoption, ports, marks, traffic, tally};
};

Service::Service(ServiceOptions options, Executor& executor, const Clock& clock)
    : parts_(std::make_unique<Parts>(std::move(options), executor, clock))
{
}

Service::~Service() = default;

void Service::start(LoopCallback<void(ReloadOutcome)> done)
{
    parts_->reloads.start(std::move(done));
    parts_->adoption.policy_changed();
    parts_->ports.policy_changed();
}

void Service::shutdown(EndOfService how, LoopCallback<void()> done)
{
    parts_->context.shutting_down = true;
    const auto all = Gathering::begin([done = std::move(done)](const Gathering::Missing&) { done(); });
    for (const auto& [key, device] : parts_->devices) {
        if (how == EndOfService::Stop) {
            all->expect(key);
            parts_->ports.let_go(key, [this, all, key = key] {
                parts_->ports.log_left(key);
                all->came(key);
            });
        }
        all->expect(key);
        if (how == EndOfService::Restart && device->can_be_handed_over()) {
            device->hand_over([all, key = key] { all->came(key); });
        } else {
            parts_->control.empty_at_end(key, all);
        }
    }
    all->all_expected();
}

std::vector<std::string> Service::features() const
{
    std::vector<std::string> features{"qos", "qos-levels", "path-query", "multi-path", "explain", "plan", "verify"};
    bool scheduling = false;
    bool pacing = false;
    for (const auto& [key, device] : parts_->devices) {
        scheduling |= device->capabilities().scheduling;
        pacing |= !device->capabilities().pacing.supported_types.empty();
    }
    if (scheduling) {
        features.emplace_back("scheduling");
    }
    if (pacing) {
        features.emplace_back("pacing");
    }
    if (const AdoptionStatus adopting = parts_->adoption.status();
        adopting.setting == Unregistered::Adopt && adopting.unavailable.empty()) {
        features.emplace_back("adoption");
    }
    if (parts_->context.options.simulated) {
        features.emplace_back("simulated");
    }
    return features;
}

const PolicyInForce& Service::in_force() const
{
    return parts_->policy;
}

const TrialInForce& Service::trial() const
{
    return parts_->trial;
}

const DeviceTable& Service::devices() const
{
    return parts_->devices;
}

const SessionReports& Service::sessions() const
{
    return parts_->reports;
}

const PathQueries& Service::paths() const
{
    return parts_->paths;
}

const Adoption& Service::adoption() const
{
    return parts_->adoption;
}

const ManagedPorts& Service::ports() const
{
    return parts_->ports;
}

HostView& Service::host()
{
    return parts_->host;
}

Marks& Service::marks()
{
    return parts_->marks;
}

ProgramTraffic& Service::traffic()
{
    return parts_->traffic;
}

MetricsCollector& Service::metrics()
{
    return parts_->metrics;
}

SessionCalls& Service::session_calls()
{
    return parts_->calls;
}

UidLimits& Service::limits()
{
    return parts_->sessions.limits;
}

Reloads& Service::reloads()
{
    return parts_->reloads;
}

Plans& Service::plans()
{
    return parts_->plans;
}

Trials& Service::trials()
{
    return parts_->trials;
}

DeviceControl& Service::device_control()
{
    return parts_->control;
}

FabricUpkeep& Service::fabric()
{
    return parts_->fabric;
}

TransientEnds& Service::transient_ends()
{
    return parts_->transient_ends;
}

ServiceContext& Service::context()
{
    return parts_->context;
}

Tally& Service::tally()
{
    return parts_->tally;
}

}    // namespace rdmaqos
