// Service: construction, and questions that change nothing.
#include "daemon/service/service.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "daemon/service/session_table.h"
#include "lib/base/log.h"
#include "policy/path/path_limits.h"

namespace rdmaqos {
namespace {

PathPort path_port(const DeviceInfo& info)
{
    return {info.name, info.port, info.port_guid, info.gids, info.pkeys, info.link_speed, info.mtu};
}

}    // namespace

Service::State::State(Service& owner, ServiceOptions given, Executor& loop, const Clock& time)
    : service(owner), options(std::move(given)), executor(loop), clock(time), limits(time),
      started_at(options.wall_clock()), ending(loop), loader(loop), calls(loop)
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

Result<std::vector<ManagedDevice*>> Service::State::devices_to_manage(const std::string& name) const
{
    if (const auto here = not_ending(); !here) {
        return fail(here.error());
    }
    return devices_by_name(name);
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

DeviceReconcile Service::State::unanswered(const std::string& key)
{
    const Error error{ErrorCode::Timeout, 0,
                      fmt::format("{} has not answered for {} s; it does what it was told when it answers", key,
                                  kPatienceWithDevices.count())};
    return {key, 0, {{ElementPath("/"), "query", error, 1}}};
}

Result<void> Service::State::not_ending() const
{
    if (shutting_down) {
        return fail(ErrorCode::Busy, "rdma-qosd is ending");
    }
    return {};
}

Result<void> Service::State::ready() const
{
    if (auto here = not_ending(); !here) {
        return here;
    }
    if (!rules.policy) {
        return fail(ErrorCode::InvalidPolicy,
                    "rdma-qosd has no valid policy; `rdma-qosctl check` says why, `rdma-qosctl reload` tries again");
    }
    return {};
}

const std::shared_ptr<FileCloser>& Service::closer() const
{
    return state_->closer;
}

void Service::State::device_removed_itself(const std::string& device)
{
    // Not now: the device is in the middle of saying so. By then another may have its name.
    calls.defer([this, key = device] {
        if (const auto found = devices.find(key); found != devices.end() && found->second->gone()) {
            remove_device(key, [] {});
        }
    });
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
    const auto devices = state_->devices_to_manage(device);
    if (!devices) {
        done(fail(devices.error()));
        return;
    }
    const auto results = std::make_shared<std::vector<DeviceReconcile>>();
    const auto all = Gathering::begin([results, done = std::move(done)](const Gathering::Missing& missing) {
        std::ranges::transform(missing, std::back_inserter(*results), &State::unanswered);
        done(std::move(*results));
    });
    for (ManagedDevice* each : *devices) {
        all->expect(each->key());
        each->reconcile_now([results, all](DeviceReconcile result) {
            const std::string key = result.device;
            results->push_back(std::move(result));
            all->came(key);
        });
    }
    all->within(state_->executor, kPatienceWithDevices);
    all->all_expected();
}

void Service::verify(const std::string& device, Callback<std::vector<DeviceDrift>> done)
{
    const auto devices = state_->devices_to_manage(device);
    if (!devices) {
        done(fail(devices.error()));
        return;
    }
    struct Found {
        std::vector<DeviceDrift> drifts;
        std::optional<Error> error;    // of the first device that could not be read
    };
    const auto found = std::make_shared<Found>();
    const auto all = Gathering::begin([found, done = std::move(done)](const Gathering::Missing& missing) {
        if (!missing.empty()) {
            done(fail(ErrorCode::Timeout, State::unanswered(missing.front()).failures.front().error.message));
        } else if (found->error) {
            done(fail(*found->error));
        } else {
            done(std::move(found->drifts));
        }
    });
    for (ManagedDevice* each : *devices) {
        all->expect(each->key());
        each->verify(false, [found, all, key = each->key()](Result<DeviceDrift> result) {
            if (result) {
                found->drifts.push_back(std::move(*result));
            } else if (!found->error) {
                found->error = result.error();
            }
            all->came(key);
        });
    }
    all->within(state_->executor, kPatienceWithDevices);
    all->all_expected();
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
    found->second->counters(std::move(done));
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

std::string Service::last_reload_error(Quote quote) const
{
    return quote == Quote::Lines ? state_->reload_error : state_->reload_error_unquoted;
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

void Service::charge(std::uint32_t uid, std::size_t requests)
{
    state_->limits.charge(uid, requests);
}

void Service::shutdown(LoopCallback<void()> done)
{
    state_->shutting_down = true;
    const auto all = Gathering::begin([done = std::move(done)](const Gathering::Missing&) { done(); });
    for (const auto& [key, device] : state_->devices) {
        all->expect(key);
        device->drain([all, key = key](const DeviceReconcile& /*left*/) { all->came(key); });
    }
    all->all_expected();
}

}    // namespace rdmaqos
