#include "daemon/service/metrics_collector.h"

#include <chrono>

#include "daemon/loop/gathering.h"
#include "lib/base/version.h"

namespace rdmaqos {
namespace {

// Who watches wants numbers most when a device hangs.
constexpr auto kPatience = std::chrono::seconds(1);

constexpr const char* kHost = "the host";      // no name of a device
constexpr const char* kMarks = "the marks";    // nor these
constexpr const char* kTraffic = "the counters";

}    // namespace

MetricsCollector::MetricsCollector(ServiceContext& context, const PolicyInForce& policy, const TrialInForce& trial,
                                   const DeviceTable& devices, const SessionTable& sessions, HostView& host,
                                   const Adoption& adoption, const ManagedPorts& ports, Marks& marks,
                                   ProgramTraffic& traffic, const Tally& tally)
    : context_(context), policy_(policy), trial_(trial), devices_(devices), sessions_(sessions), host_(host),
      adoption_(adoption), managed_ports_(ports), marks_(marks), traffic_(traffic), tally_(tally),
      started_at_(context.options.wall_clock())
{
}

void MetricsCollector::collect(LoopCallback<void(Metrics)> done)
{
    waiting_.push_back(std::move(done));
    if (waiting_.size() > 1) {
        return;
    }
    const std::uint64_t collection = ++collection_;
    ports_.clear();
    host_counts_.reset();
    counted_.clear();
    patience_ = context_.executor.after(kPatience, [this, collection] { finish(collection); });
    // Answered when the last port is, and never before this returns.
    const auto all = Gathering::begin([this, collection](const Gathering::Missing&) {
        context_.calls.defer([this, collection] { finish(collection); });
    });
    for (const auto& [key, device] : devices_) {
        if (!device->has_room() || !asked_.insert(key).second) {
            continue;
        }
        all->expect(key);
        device->counters([this, collection, key = key, all](const Result<CounterReading>& reading) {
            asked_.erase(key);
            if (reading && collection_ == collection) {
                ports_.insert_or_assign(key, reading->counters);
            }
            all->came(key);
        });
    }
    all->expect(kMarks);
    marks_.read(kPatience, [all](const HostMarks&) { all->came(kMarks); });
    all->expect(kHost);
    host_.count([this, collection, all](const Result<HostView::Counted>& counted) {
        if (counted && collection_ == collection) {
            host_counts_ = counted->counts;
        }
        all->came(kHost);
    });
    all->expect(kTraffic);
    traffic_.read([this, collection, all](const Result<std::vector<CountersOfPort>>& read) {
        if (read && collection_ == collection) {
            for (const auto& port : *read) {
                counted_.emplace(port.key, port.counted);
            }
        }
        all->came(kTraffic);
    });
    all->all_expected();
}

void MetricsCollector::finish(std::uint64_t collection)
{
    if (collection_ != collection || waiting_.empty()) {
        return;
    }
    patience_.reset();
    const auto waiting = std::exchange(waiting_, {});
    const Metrics metrics = all();
    for (const auto& done : waiting) {
        done(metrics);
    }
}

Metrics MetricsCollector::all() const
{
    Metrics all;
    all.version = kVersion;
    all.started_at = started_at_;
    all.enforcing = policy_.settings().mode == Mode::Enforce;
    all.last_reload_good = policy_.last_reload.accepted;
    all.service = tally_.counters();
    all.transports = tally_.transports;
    all.adoption = adoption_.status();
    all.trial = trial_.number() != 0;
    if (const auto& policy = policy_.policy()) {
        all.policy = PolicyMetrics{policy->revision, policy->levels.size(), policy->rules.size(),
                                   policy_.rules().matcher->memory()};
        for (const auto& level : policy->levels) {
            all.sessions.emplace(level.name, 0);
            if (level.mode == Mode::Monitor) {
                all.policy->monitored.push_back(level.name);
            }
        }
        for (const auto& each : policy->overrides) {
            all.policy->overrides.push_back({policy->levels.at(each.level).name, each.property});
        }
    }
    for (const auto& [id, session] : sessions_) {
        all.sessions_detached += session.state() == SessionState::Detached ? 1 : 0;
        const auto level = all.sessions.find(session.choice.membership.level);
        ++(level == all.sessions.end() ? all.sessions_without_level : level->second);
    }
    all.host = host_counts_.value_or(HostCounts());
    all.state_failures = context_.state_failures.size();
    for (const auto& [id, device] : devices_.refused) {
        all.refused_devices.push_back(key_of(device.names));
    }
    const HostMarks marks = marks_.known();
    for (const auto& [key, device] : devices_) {
        all.devices.push_back(device->metrics(policy_.policy().get()));
        if (const auto of_device = marks.find(key); of_device != marks.end()) {
            for (const auto& [level, counted] : of_device->second) {
                all.devices.back().levels[level].marks = counted;
            }
        }
        for (const auto& [level, count] : host_.monitored(device->info().name)) {
            if (const auto of = all.devices.back().levels.find(level); of != all.devices.back().levels.end()) {
                of->second.queue_pairs += count;
            }
        }
        if (const auto counted = counted_.find(key); counted != counted_.end()) {
            all.devices.back().queue_pairs_counted = counted->second;
        }
        if (const auto* totals = traffic_.totals().of(key)) {
            for (const auto& [level, bytes] : *totals) {
                if (const auto of = all.devices.back().levels.find(level); of != all.devices.back().levels.end()) {
                    of->second.traffic = bytes;
                }
            }
        }
        if (host_counts_) {
            all.devices.back().queue_pairs_outside = outside_on(*host_counts_, key);
        }
        if (const auto port = ports_.find(key); port != ports_.end()) {
            all.devices.back().port = port->second;
        }
        PortStatus status = managed_ports_.status(key);
        if (status.reading == PortReading::Read) {
            all.devices.back().port_settings = std::move(status.settings);
        }
        if (const auto traffic = managed_ports_.traffic(key)) {
            all.devices.back().traffic = traffic->total;
        }
        if (const PortKeeping keeping = status.care.keeping;
            keeping != PortKeeping::Off && keeping != PortKeeping::LeftAlone) {
            all.devices.back().port_keeping = PortKeepingMetrics{
                keeping == PortKeeping::Kept, keeping == PortKeeping::Failed || keeping == PortKeeping::Waiting,
                keeping == PortKeeping::Stopped, status.care.repairs};
        }
    }
    return all;
}

}    // namespace rdmaqos
