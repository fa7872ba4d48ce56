#include "daemon/service/service.h"

#include <utility>

#include <fmt/format.h>

#include "daemon/device/device_names.h"
#include "daemon/loop/gathering.h"
#include "daemon/service/adoption.h"
#include "daemon/service/context.h"
#include "daemon/service/device_control.h"
#include "daemon/service/device_table.h"
#include "daemon/service/fabric_upkeep.h"
#include "daemon/service/grants.h"
#include "daemon/service/host_view.h"
#include "daemon/service/metrics_collector.h"
#include "daemon/service/plans.h"
#include "daemon/service/policy_changes.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/program_ends.h"
#include "daemon/service/reloads.h"
#include "daemon/service/session_calls.h"
#include "daemon/service/session_counts.h"
#include "daemon/service/session_table.h"
#include "daemon/service/transient_ends.h"
#include "daemon/service/trial_in_force.h"
#include "daemon/service/trials.h"

namespace rdmaqos {

// The parts, each of which knows those above it alone; and which of them hears what of devices.
struct Service::State final : DeviceListener {
    State(ServiceOptions options, Executor& executor, const Clock& clock)
        : context(std::move(options), executor, clock), sessions(clock)
    {
    }
    // Devices first: the end of each is told to who waits for it.
    ~State() override { devices.clear(); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

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
        calls.device_was_reset(device, affected);
    }
    void device_removed_itself(const std::string& device) override { control.remove_soon(device); }
    void device_status_changed(const std::string& device) override
    {
        grants.device_answered(device);
        context.notify([&](ServiceObserver& observer) { observer.device_changed(device); });
    }
    void device_addresses_changed(const std::string& /*device*/) override { changes.resolve_soon(); }
    void drift_repaired(const std::string& device, std::uint32_t count) override
    {
        context.notify([&](ServiceObserver& observer) { observer.drift_repaired(device, count); });
    }

    // What there is.
    ServiceContext context;
    PolicyInForce policy;
    DeviceTable devices;
    SessionTable sessions;
    // What is done with it.
    Grants grants{context, devices, sessions};
    AdoptionVerdicts verdicts;
    HostView host{context, devices, sessions, verdicts};
    MetricsCollector metrics{context, policy, devices, sessions, host};
    PolicyChanges changes{context, policy, devices, sessions, grants};
    TrialInForce trial{context};
    Reloads reloads{context, policy, devices, sessions, changes, metrics, trial};
    Trials trials{context, policy, trial, reloads};
    TransientEnds transient_ends{context, policy, reloads};
    Plans plans{context, policy, devices, changes};
    FabricUpkeep fabric{context, policy, changes};
    DeviceControl control{context, policy, devices, grants, changes, *this};
    SessionCalls calls{context, policy, devices, sessions, grants, metrics};
    Adoption adoption{context, policy, devices, sessions, calls, verdicts};
    ProgramEnds ends{context, sessions, calls};
};

Service::Service(ServiceOptions options, Executor& executor, const Clock& clock)
    : state_(std::make_unique<State>(std::move(options), executor, clock))
{
}

Service::~Service() = default;

void Service::add_observer(ServiceObserver& observer)
{
    state_->context.observers.push_back(&observer);
}

void Service::remove_observer(ServiceObserver& observer)
{
    std::erase(state_->context.observers, &observer);
}

void Service::read_files()
{
    state_->reloads.read_files();
}

ReloadOutcome Service::start()
{
    auto outcome = state_->reloads.start();
    state_->adoption.policy_changed();
    return outcome;
}

void Service::reload(LoopCallback<void(ReloadOutcome)> done)
{
    state_->reloads.reload(std::move(done));
}

void Service::refresh(LoopCallback<void(ReloadOutcome)> done)
{
    state_->reloads.refresh(std::move(done));
}

void Service::try_policy(TrialRequest request, Callback<TrialOutcome> done)
{
    state_->trials.begin(std::move(request), std::move(done));
}

void Service::confirm_trial(const std::string& revision, Callback<void> done)
{
    state_->trials.confirm(revision, std::move(done));
}

void Service::revert_trial(Callback<ReloadOutcome> done)
{
    state_->trials.revert(std::move(done));
}

std::optional<TrialStatus> Service::trial() const
{
    return state_->trial.status();
}

std::shared_ptr<const SourceFile> Service::tried_text() const
{
    return state_->trial.text();
}

void Service::reread_fabric(LoopCallback<void()> done)
{
    state_->fabric.reread(std::move(done));
}

void Service::look_at_fabric(LoopCallback<void()> done)
{
    state_->fabric.look(std::move(done));
}

const std::vector<TransientFile>& Service::transient_files() const
{
    return state_->policy.transient_files;
}

std::filesystem::path Service::cgroup_directory(const std::string& cgroup) const
{
    return rdmaqos::cgroup_directory(state_->context.options.root, cgroup);
}

bool Service::end_transient_files()
{
    return state_->transient_ends.end();
}

std::filesystem::path Service::fabric_file() const
{
    return fabric_path(state_->context.options.root);
}

void Service::plan(std::optional<std::shared_ptr<const SourceFile>> policy, Account account, Callback<PlanReport> done)
{
    state_->plans.plan(std::move(policy), account, std::move(done));
}

void Service::check(std::shared_ptr<const SourceFile> policy, Account account, Callback<ReloadOutcome> done)
{
    state_->plans.check(std::move(policy), account, std::move(done));
}

// Devices.

void Service::add_device(std::unique_ptr<Backend> backend, std::shared_ptr<DeviceHandover> handover)
{
    state_->control.add(std::move(backend), std::move(handover));
}

void Service::remove_device(const std::string& key)
{
    state_->control.remove(std::string(key), [] {});    // the device's own copy goes with it
}

void Service::disable(const std::string& device, Callback<std::vector<DeviceReconcile>> done)
{
    state_->control.disable(device, std::move(done));
}

void Service::enable(const std::string& device, Callback<std::vector<DeviceReconcile>> done)
{
    state_->control.enable(device, std::move(done));
}

void Service::release_device(const std::string& device, Callback<std::vector<DeviceReconcile>> done)
{
    state_->control.release(device, std::move(done));
}

std::vector<std::string> Service::released_devices() const
{
    return state_->devices.released_keys();
}

void Service::port_changed(Guid node_guid, std::uint32_t port)
{
    for (const auto& [key, device] : state_->devices) {
        if (device->info().node_guid == node_guid && device->info().port == port) {
            device->refresh_info();
            return;
        }
    }
}

bool Service::wanted(Guid node_guid, std::uint32_t port) const
{
    return state_->control.wanted({node_guid, port});
}

void Service::device_vanished(Guid node_guid, std::uint32_t port)
{
    state_->control.vanished({node_guid, port});
}

void Service::on_wanted_again(std::function<void(Guid, std::uint32_t)> look)
{
    state_->control.on_wanted_again(std::move(look));
}

void Service::device_refused(Guid node_guid, std::uint32_t port, const std::string& why)
{
    state_->control.refused({node_guid, port}, why);
}

void Service::device_not_managed(const DeviceInfo& port, const std::string& why)
{
    state_->control.not_managed(port, why);
}

std::vector<RefusedDevice> Service::refused_devices() const
{
    return state_->devices.all_refused();
}

void Service::reconcile(const std::string& device, Callback<std::vector<DeviceReconcile>> done)
{
    state_->control.reconcile(device, std::move(done));
}

void Service::verify(const std::string& device, Callback<std::vector<DeviceDrift>> done)
{
    state_->control.verify(device, std::move(done));
}

void Service::counters(const std::string& device, Callback<CounterReading> done)
{
    state_->control.counters(device, std::move(done));
}

Result<std::string> Service::find_device(const std::string& name) const
{
    const auto device = state_->devices.one_named(name);
    if (!device) {
        for (const auto& [key, names] : state_->devices.closing) {
            if (has_name(names, name)) {
                return fail(ErrorCode::Busy, fmt::format("{} is being released", key));
            }
        }
        return fail(device.error());
    }
    return (*device)->key();
}

Result<DeviceNames> Service::device_names(const std::string& name) const
{
    const auto device = state_->devices.one_named(name);
    if (!device) {
        return fail(device.error());
    }
    return names_of((*device)->info());
}

std::vector<std::string> Service::devices() const
{
    std::vector<std::string> keys;
    for (const auto& [key, device] : state_->devices) {
        keys.push_back(key);
    }
    return keys;
}

std::optional<DeviceStatus> Service::device(const std::string& key) const
{
    const ManagedDevice* found = state_->devices.find(key);
    return found == nullptr ? std::nullopt : std::optional(found->status());
}

// Metrics.

HostView& Service::host()
{
    return state_->host;
}

void Service::metrics(LoopCallback<void(Metrics)> done)
{
    state_->metrics.collect([this, done = std::move(done)](Metrics metrics) {
        metrics.adoption = adoption();
        metrics.trial = state_->trial.number() != 0;
        done(std::move(metrics));
    });
}

const ServiceCounters& Service::tally() const
{
    return state_->metrics.tally();
}

TransportCounters& Service::transport_counters()
{
    return state_->metrics.transports();
}

const std::shared_ptr<FileCloser>& Service::closer() const
{
    return state_->context.closer;
}

// Calls of clients.

void Service::register_session(PeerId peer, std::shared_ptr<const Identity> identity, RegisterRequest request,
                               Callback<RegisterReply> done)
{
    state_->calls.register_session(peer, std::move(identity), std::move(request), std::move(done));
}

void Service::attach(PeerId peer, SessionId session, std::vector<QueuePairRequest> queue_pairs,
                     Callback<std::vector<QueuePairResult>> done)
{
    state_->calls.attach(peer, session, std::move(queue_pairs), std::move(done));
}

void Service::detach(PeerId peer, SessionId session, const std::string& device, std::uint32_t number,
                     Callback<void> done)
{
    state_->calls.detach(peer, session, device, number, std::move(done));
}

void Service::set_rate(PeerId peer, SessionId session, const std::string& device, std::uint32_t number,
                       std::optional<RateLimit> rate, Callback<void> done)
{
    state_->calls.set_rate(peer, session, device, number, rate, std::move(done));
}

void Service::release(PeerId peer, SessionId session, Callback<void> done)
{
    state_->calls.release(peer, session, std::move(done));
}

void Service::peer_gone(PeerId peer)
{
    state_->calls.peer_gone(peer);
}

Result<void> Service::admit(Account account)
{
    return state_->sessions.limits.take_request(account);
}

void Service::charge(Account account, std::size_t requests)
{
    state_->sessions.limits.charge(account, requests);
}

Result<PathResult> Service::query_path(const Request& request, const Identity& identity) const
{
    if (const auto ready = state_->calls.ready(); !ready) {
        return fail(ready.error());
    }
    const Rules& rules = state_->policy.rules();
    const auto found = rules.matcher->match(request, identity);
    if (!found) {
        return fail(found.error());
    }
    const auto answer = apply_level(*found->level, request, state_->devices.path_limits(request, *rules.fabric));
    if (!answer) {
        return fail(answer.error());
    }
    const QosLevel& level = *found->level;
    return PathResult{level.name, rules.matcher->why(*found, request, identity), *answer, level.traffic_class,
                      level.sl && level.sl_source == SlSource::Host};
}

Result<Explanation> Service::explain(const Request& request, const Identity& identity) const
{
    if (const auto ready = state_->calls.ready(); !ready) {
        return fail(ready.error());
    }
    const Rules& rules = state_->policy.rules();
    return rdmaqos::explain(*rules.matcher, request, identity, state_->devices.path_limits(request, *rules.fabric));
}

// What is in force.

const Settings& Service::settings() const
{
    return state_->policy.settings();
}

bool Service::makes_elements() const
{
    return rdmaqos::makes_elements(state_->reloads.policy_to_run().get(), settings());
}

std::shared_ptr<const Policy> Service::policy() const
{
    return state_->policy.policy();
}

const ReloadOutcome& Service::last_reload() const
{
    return state_->policy.last_reload;
}

const std::map<std::string, std::string>& Service::state_failures() const
{
    return state_->context.state_failures;
}

const Diagnostics& Service::fabric_diagnostics() const
{
    return state_->policy.fabric_diagnostics;
}

std::vector<std::string> Service::features() const
{
    std::vector<std::string> features{"qos", "qos-levels", "path-query", "multi-path", "explain", "plan", "verify"};
    bool scheduling = false;
    bool pacing = false;
    for (const auto& [key, device] : state_->devices) {
        scheduling |= device->capabilities().scheduling;
        pacing |= !device->capabilities().pacing.supported_types.empty();
    }
    if (scheduling) {
        features.emplace_back("scheduling");
    }
    if (pacing) {
        features.emplace_back("pacing");
    }
    if (const AdoptionStatus adopting = adoption();
        adopting.setting == Unregistered::Adopt && adopting.unavailable.empty()) {
        features.emplace_back("adoption");
    }
    if (simulated()) {
        features.emplace_back("simulated");
    }
    return features;
}

AdoptionStatus Service::adoption() const
{
    return state_->adoption.status();
}

bool Service::simulated() const
{
    return state_->context.options.simulated;
}

// Sessions.

std::vector<SessionId> Service::sessions() const
{
    std::vector<SessionId> ids;
    ids.reserve(state_->sessions.size());
    for (const auto& [id, session] : state_->sessions) {
        ids.push_back(id);
    }
    return ids;
}

std::optional<SessionInfo> Service::session_alone(SessionId id) const
{
    Session* session = state_->sessions.find(id);
    if (session == nullptr) {
        return std::nullopt;
    }
    return SessionInfo{id, session->peer,   *session->owner, session->state(), state_->grants.of(*session),
                       {}, session->adopted};
}

std::optional<QueuePairName> Service::next_queue_pair(SessionId id, const std::optional<QueuePairName>& after) const
{
    const Session* session = state_->sessions.find(id);
    return session == nullptr ? std::nullopt : session->next_queue_pair(after);
}

std::size_t Service::queue_pair_count(SessionId id) const
{
    const Session* session = state_->sessions.find(id);
    return session == nullptr ? 0 : session->queue_pair_count();
}

std::optional<QueuePairResult> Service::queue_pair(const std::string& device, std::uint32_t number) const
{
    const ManagedDevice* found = state_->devices.find(device);
    return found == nullptr ? std::nullopt : found->result(number);
}

std::optional<SessionInfo> Service::session(SessionId id) const
{
    auto info = session_alone(id);
    for (auto name = next_queue_pair(id, std::nullopt); name; name = next_queue_pair(id, name)) {
        if (auto result = queue_pair(name->device, name->number)) {
            info->queue_pairs.push_back(std::move(*result));
        }
    }
    return info;
}

SessionCounts Service::session_counts() const
{
    return count_sessions(state_->sessions, state_->devices, policy().get());
}

std::map<std::string, LevelUse> Service::level_uses() const
{
    std::map<std::string, LevelUse> uses;
    for (const auto& [level, count] : state_->host.monitored("")) {
        uses[level] = {0, count, count};
    }
    count_levels(state_->sessions, state_->devices, uses);
    return uses;
}

std::vector<std::string> Service::silent_devices() const
{
    std::vector<std::string> silent;
    for (const auto& [key, device] : state_->devices) {
        if (device->is_silent()) {
            silent.push_back(key);
        }
    }
    return silent;
}

std::map<std::string, WorkerPulse> Service::pulses() const
{
    std::map<std::string, WorkerPulse> pulses;
    for (const auto& [key, device] : state_->devices) {
        pulses.emplace(key, device->pulse());
    }
    return pulses;
}

void Service::shutdown(EndOfService how, LoopCallback<void()> done)
{
    state_->context.shutting_down = true;
    const auto all = Gathering::begin([done = std::move(done)](const Gathering::Missing&) { done(); });
    for (const auto& [key, device] : state_->devices) {
        all->expect(key);
        if (how == EndOfService::Restart && device->can_be_handed_over()) {
            device->hand_over([all, key = key] { all->came(key); });
        } else {
            state_->control.empty_at_end(key, all);
        }
    }
    all->all_expected();
}

}    // namespace rdmaqos
