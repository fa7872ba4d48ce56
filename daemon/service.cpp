// Service: construction, and questions that change nothing.
#include "daemon/service.h"

#include <algorithm>

#include <fmt/format.h>

#include "daemon/service_state.h"
#include "lib/base/log.h"
#include "policy/path_limits.h"

namespace rdmaqos {
namespace {

PathPort path_port(const DeviceInfo& info)
{
    return {info.name, info.port, info.port_guid, info.gids, info.pkeys, info.link_speed, info.mtu};
}

}    // namespace

Service::State::State(Service& owner, ServiceOptions given, Executor& loop, const Clock& time)
    : service(owner), options(std::move(given)), executor(loop), clock(time), limits(time),
      started_at(options.wall_clock())
{
}

Service::Service(ServiceOptions options, Executor& executor, const Clock& clock)
    : state_(std::make_unique<State>(*this, std::move(options), executor, clock))
{
}

Service::~Service() = default;

void Service::add_observer(ServiceObserver& observer)
{
    state_->observers.push_back(&observer);
}

void Service::remove_observer(ServiceObserver& observer)
{
    std::erase(state_->observers, &observer);
}

Result<std::vector<ManagedDevice*>> Service::State::devices_by_name(const std::string& name) const
{
    std::vector<ManagedDevice*> found;
    for (const auto& [key, device] : devices) {
        if (name.empty() || has_name(names_of(device->info()), name)) {
            found.push_back(device.get());
        }
    }
    if (found.empty() && !name.empty()) {
        return fail(ErrorCode::UnknownDevice, unknown_device(name));
    }
    return found;
}

Result<ManagedDevice*> Service::State::device_by_name(const std::string& name) const
{
    if (name.empty()) {
        return fail(ErrorCode::InvalidArgument, "`device` is missing");
    }
    const auto found = devices_by_name(name);
    if (!found) {
        return fail(found.error());
    }
    if (found->size() > 1) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("`{}` has several ports; say which, as in `{}`", name, found->front()->key()));
    }
    return found->front();
}

Rules Service::State::make_rules(std::shared_ptr<const Policy> policy, std::shared_ptr<const Fabric> fabric) const
{
    Rules made;
    made.policy = std::move(policy);
    made.fabric = fabric ? std::move(fabric) : std::make_shared<const Fabric>();
    if (!made.policy) {
        return made;
    }
    made.matcher = std::make_shared<const Matcher>(*made.policy, resolve(*made.policy, *made.fabric, local_ports()));
    made.by_device = std::any_of(made.policy->rules.begin(), made.policy->rules.end(),
                                 [](const MatchRule& rule) { return !rule.devices.empty(); });
    return made;
}

Result<void> Service::State::ready() const
{
    if (shutting_down) {
        return fail(ErrorCode::Busy, "rdma-qosd is ending");
    }
    if (!rules.policy) {
        return fail(ErrorCode::InvalidPolicy,
                    "rdma-qosd has no valid policy; `rdma-qosctl check` says why, `rdma-qosctl reload` tries again");
    }
    return {};
}

ClientFile::Close Service::close_file() const
{
    return [closer = state_->closer](UniqueFd fd) { closer->close(std::move(fd)); };
}

void Service::State::device_removed_itself(const std::string& device)
{
    service.remove_device(std::string(device));    // the device's own copy goes with it
}

void Service::State::device_status_changed(const std::string& device)
{
    notify([&](ServiceObserver& observer) { observer.device_changed(device); });
}

void Service::State::drift_repaired(const std::string& device, std::uint32_t count)
{
    notify([&](ServiceObserver& observer) { observer.drift_repaired(device, count); });
}

void Service::reconcile(const std::string& device, Callback<std::vector<DeviceReconcile>> done)
{
    const auto devices = state_->devices_by_name(device);
    if (!devices) {
        done(fail(devices.error()));
        return;
    }
    auto results = std::make_shared<std::vector<DeviceReconcile>>();
    const Completion answer = state_->completion([results, done = std::move(done)] { done(std::move(*results)); });
    for (ManagedDevice* each : *devices) {
        each->reconcile_now([results, answer](const DeviceReconcile& result) { results->push_back(result); });
    }
}

void Service::verify(const std::string& device, Callback<std::vector<DeviceDrift>> done)
{
    const auto devices = state_->devices_by_name(device);
    if (!devices) {
        done(fail(devices.error()));
        return;
    }
    auto results = std::make_shared<std::vector<DeviceDrift>>();
    const Completion answer = state_->completion([results, done = std::move(done)] { done(std::move(*results)); });
    for (ManagedDevice* each : *devices) {
        each->verify(false, [results, answer](const DeviceDrift& result) { results->push_back(result); });
    }
}

void Service::counters(const std::string& device, Callback<CounterReading> done)
{
    const auto found = state_->devices.find(device);
    if (found == state_->devices.end()) {
        done(fail(ErrorCode::UnknownDevice, fmt::format("there is no device `{}` (any longer)", device)));
        return;
    }
    if (const auto room = found->second->has_room(); !room) {
        done(fail(room.error()));
        return;
    }
    auto reading = std::make_shared<Result<CounterReading>>(
        fail(ErrorCode::DeviceGone, fmt::format("{} went away", device)));
    const Completion answer = state_->completion([reading, done = std::move(done)] { done(std::move(*reading)); });
    found->second->counters([reading, answer](Result<CounterReading> got) { *reading = std::move(got); });
}

PathLimits Service::State::path_limits(const Request& request) const
{
    std::vector<PathPort> ports;
    ports.reserve(devices.size());
    for (const auto& [key, device] : devices) {
        ports.push_back(path_port(device->info()));
    }
    return rdmaqos::path_limits(request, ports, [this](Guid guid) { return rules.fabric->find_port(guid); });
}

Result<PathResult> Service::query_path(const Request& request, const Identity& identity) const
{
    if (const auto ready = state_->ready(); !ready) {
        return fail(ready.error());
    }
    const Rules& rules = state_->rules;
    const auto found = rules.matcher->match(request, identity);
    if (!found) {
        return fail(found.error());
    }
    const auto answer = apply_level(*found->level, request, state_->path_limits(request));
    if (!answer) {
        return fail(answer.error());
    }
    return PathResult{found->level->name, rules.matcher->why(*found, request, identity), *answer};
}

Result<Explanation> Service::explain(const Request& request, const Identity& identity) const
{
    if (const auto ready = state_->ready(); !ready) {
        return fail(ready.error());
    }
    const Rules& rules = state_->rules;
    return rdmaqos::explain(*rules.matcher, request, identity, state_->path_limits(request));
}

Result<std::string> Service::find_device(const std::string& name) const
{
    const auto device = state_->device_by_name(name);
    if (!device) {
        return fail(device.error());
    }
    return (*device)->key();
}

Result<DeviceNames> Service::device_names(const std::string& name) const
{
    const auto device = state_->device_by_name(name);
    if (!device) {
        return fail(device.error());
    }
    return names_of((*device)->info());
}

const Settings& Service::settings() const
{
    return state_->settings;
}

std::shared_ptr<const Policy> Service::policy() const
{
    return state_->rules.policy;
}

std::string Service::last_reload_error() const
{
    return state_->reload_error;
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
    if (state_->options.simulated) {
        features.emplace_back("simulated");
    }
    return features;
}

bool Service::simulated() const
{
    return state_->options.simulated;
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
    const auto found = state_->devices.find(key);
    if (found == state_->devices.end()) {
        return std::nullopt;
    }
    return found->second->status();
}

Result<void> Service::admit(std::uint32_t uid)
{
    return state_->limits.take_request(uid);
}

void Service::shutdown(std::function<void()> done)
{
    state_->shutting_down = true;
    const Completion answer = state_->completion(std::move(done));
    for (const auto& [key, device] : state_->devices) {
        device->drain([answer](const DeviceReconcile& /*left*/) {});
    }
}

}    // namespace rdmaqos
