// Service: what there is to count, put together.
#include <algorithm>
#include <utility>

#include "daemon/model/version.h"
#include "daemon/service/session_table.h"

namespace rdmaqos {
namespace {

// Who watches wants numbers most when a device hangs.
constexpr auto kPatience = std::chrono::seconds(1);

}    // namespace

void Service::metrics(LoopCallback<void(Metrics)> done)
{
    auto& request = state_->metrics_request;
    request.waiting.push_back(std::move(done));
    if (request.waiting.size() > 1) {
        return;
    }
    const std::uint64_t collection = ++request.collection;
    request.ports.clear();
    request.patience = state_->executor.after(
        kPatience, [state = state_.get(), collection] { state->finish_metrics(collection); });
    // Answered when the last port is, and never before this returns.
    const auto all = Gathering::begin([state = state_.get(), collection](const Gathering::Missing&) {
        state->calls.defer([state, collection] { state->finish_metrics(collection); });
    });
    for (const auto& [key, device] : state_->devices) {
        if (!device->has_room() || !request.asked.insert(key).second) {
            continue;
        }
        all->expect(key);
        device->counters([state = state_.get(), collection, key = key, all](const Result<CounterReading>& reading) {
            state->metrics_request.asked.erase(key);
            if (reading && state->metrics_request.collection == collection) {
                state->metrics_request.ports.insert_or_assign(key, reading->counters);
            }
            all->came(key);
        });
    }
    all->all_expected();
}

void Service::State::finish_metrics(std::uint64_t collection)
{
    auto& request = metrics_request;
    if (request.collection != collection || request.waiting.empty()) {
        return;
    }
    request.patience.reset();
    const auto waiting = std::exchange(request.waiting, {});
    const Metrics all = metrics();
    for (const auto& done : waiting) {
        done(all);
    }
}

Metrics Service::State::metrics() const
{
    Metrics all;
    all.version = kVersion;
    all.started_at = started_at;
    all.enforcing = settings.mode == Mode::Enforce;
    all.last_reload_good = reload_error.empty();
    all.service = tally;
    all.doors = door_counters;
    if (rules.policy) {
        const Policy& policy = *rules.policy;
        all.policy = PolicyMetrics{policy.revision, policy.levels.size(), policy.rules.size(), rules.matcher->memory()};
        for (const auto& level : policy.levels) {
            all.sessions.emplace(level.name, 0);
        }
    }
    for (const auto& [id, session] : sessions) {
        all.sessions_detached += session.state == SessionState::Detached ? 1 : 0;
        const auto level = all.sessions.find(session.choice.membership.level);
        ++(level == all.sessions.end() ? all.sessions_without_level : level->second);
    }
    for (const auto& [key, device] : devices) {
        all.devices.push_back(device->metrics(rules.policy.get()));
        if (const auto port = metrics_request.ports.find(key); port != metrics_request.ports.end()) {
            all.devices.back().port = port->second;
        }
    }
    return all;
}

const ServiceCounters& Service::tally() const
{
    return state_->tally;
}

DoorCounters& Service::door_counters()
{
    return state_->door_counters;
}

}    // namespace rdmaqos
