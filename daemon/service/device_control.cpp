// Service: devices that come, go, and are switched off and on by the administrator.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "daemon/service/session_table.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "policy/model/lower.h"

namespace rdmaqos {
namespace {

// A queue pair in the middle of its owner's own call can go a moment later.
constexpr std::uint32_t kDrainAttempts = 20;
constexpr auto kDrainPause = std::chrono::milliseconds(100);
// What an answer waits for besides devices.
constexpr const char* kStateFile = "disabled-devices.json";

Error went_away(const std::string& key)
{
    return {ErrorCode::DeviceGone, 0, fmt::format("{} went away while it was being released", key)};
}

}    // namespace

void Service::add_device(std::unique_ptr<Backend> backend)
{
    State& state = *state_;
    auto device = std::make_unique<ManagedDevice>(std::move(backend), state.settings, state.executor, state.clock,
                                                  state, state.ending);
    const std::string key = device->key();
    const DeviceInfo& info = device->info();
    if (state.shutting_down) {
        return;    // nothing is built any more
    }
    if (!wanted(info.node_guid, info.port)) {
        log(LogLevel::Info, {{"DEVICE", key}}, "{} is left alone: it was released; `rdma-qosctl enable {}` takes it",
            key, key);
        return;
    }
    log(LogLevel::Notice, {{"DEVICE", key}}, "{}: {} {}, {}, attach mode {}", key, info.driver,
        to_string(info.link_layer), to_string(info.link_speed), to_string(device->status().attach.mode));
    if (const auto off = state.disabled.find(id_of(info)); off != state.disabled.end()) {
        off->second = names_of(info);
        device->set_disabled(true, [](const DeviceReconcile&) {});
        log(LogLevel::Notice, {{"DEVICE", key}}, "{} is disabled (`rdma-qosctl disable`)", key);
    }
    remove_device(key);    // one that has gone and did not say so
    ManagedDevice& added = *device;
    state.devices.emplace(key, std::move(device));
    ++state.device_changes;
    if (state.rules.policy) {
        PlacementBook book = added.new_book();
        book.set_spec(schedule_spec(*state.rules.policy, state.settings.leaf_reserve));
        added.adopt(std::move(book), [] {});
        for (const auto& finding : added.book().compiled().findings) {
            log(finding.is_error ? LogLevel::Error : LogLevel::Warning, {{"DEVICE", key}}, "{}: {}", key,
                to_string(finding));
        }
    }
    state.resolve_again(state.rules.fabric, fmt::format("{} came", key), [] {});
    state.refresh_all();
    state.notify([&](ServiceObserver& observer) { observer.device_added(key); });
    state.has_come(added);
}

void Service::remove_device(const std::string& key)
{
    state_->remove_device(std::string(key), [] {});    // the device's own copy goes with it
}

void Service::State::remove_device(const std::string& key, LoopCallback<void()> closed)
{
    const auto found = devices.find(key);
    if (found == devices.end()) {
        closed();
        return;
    }
    std::set<SessionId> affected;
    for (const std::uint32_t number : found->second->book().members_in_order()) {
        affected.insert(found->second->book().find(number)->session);
    }
    log(LogLevel::Notice, {{"DEVICE", key}}, "{} went away; {} sessions had queue pairs on it", key, affected.size());
    // Its end answers calls that wait for it, which look at sessions: they must not name it any longer then.
    std::unique_ptr<ManagedDevice> gone = std::move(found->second);
    devices.erase(found);
    ++device_changes;
    device_was_reset(key, {affected.begin(), affected.end()});
    resolve_again(rules.fabric, fmt::format("{} went away", key), [] {});
    notify([&](ServiceObserver& observer) { observer.device_removed(key); });
    gone->leave(std::move(closed));
    // What called us may be a callback of it.
    calls.defer([gone = std::move(gone)] {});
}

Result<void> Service::State::settle_file(Session& session, const std::string& device, QueuePairRef& ref)
{
    constexpr std::size_t kMostFiles = 64;    // of a session on a device; programs open one, libraries in them a few
    auto& files = session.files[device];
    std::erase_if(files, [](const auto& file) { return file.expired(); });
    if (!ref.file) {
        ref.file = files.size() == 1 ? files.front().lock() : nullptr;
        return {};
    }
    for (const auto& known : files) {
        const auto file = known.lock();
        if (file && (file == ref.file || is_same_open_file(file->fd(), ref.file->fd()))) {
            ref.file = file;
            return {};
        }
    }
    if (files.size() >= kMostFiles) {
        return fail(ErrorCode::LimitReached,
                    fmt::format("a session can bring {} open files of a device; this is one more", kMostFiles));
    }
    files.push_back(ref.file);
    return {};
}

void Service::State::switch_devices(const std::vector<ManagedDevice*>& which, bool off, const SwitchResults& results,
                                    Callback<std::vector<DeviceReconcile>> done)
{
    const auto kept = std::make_shared<Result<void>>();
    const auto all = Gathering::begin([this, results, kept, done = std::move(done)](const Gathering::Missing& missing) {
        refresh_all();
        for (const auto& part : missing) {
            if (part == kStateFile) {
                *kept = fail(ErrorCode::Timeout, "the disk does not answer");
            } else {
                results->push_back(unanswered(part));
            }
        }
        if (*kept) {
            done(std::move(*results));
        } else {
            done(fail(kept->error().with_context("it is done, but cannot be kept over a restart")));
        }
    });
    for (ManagedDevice* device : which) {
        log(LogLevel::Notice, {{"DEVICE", device->key()}}, "{}: {}", device->key(), off ? "disabled" : "enabled");
        all->expect(device->key());
        device->set_disabled(off, [results, all, key = device->key()](DeviceReconcile result) {
            results->push_back(std::move(result));
            all->came(key);
        });
    }
    all->expect(kStateFile);
    loader.run([root = options.root, list = disabled] { return save_disabled(root, list); },
               [kept, all](Result<void> saved) {
                   *kept = std::move(saved);
                   all->came(kStateFile);
               });
    all->within(executor, kPatienceWithDevices);
    all->all_expected();
}

void Service::disable(const std::string& device, Callback<std::vector<DeviceReconcile>> done)
{
    State& state = *state_;
    const auto found = state.devices_to_manage(device);
    if (!found) {
        done(fail(found.error()));
        return;
    }
    for (const ManagedDevice* each : *found) {
        state.disabled[id_of(each->info())] = names_of(each->info());
    }
    state.switch_devices(*found, true, std::make_shared<std::vector<DeviceReconcile>>(), std::move(done));
}

// All names, those of devices that are switched off and not there included.
std::string Service::State::unknown_device(const std::string& name) const
{
    std::string known;
    const auto add = [&](const std::string& key, std::string_view remark) {
        known += fmt::format("{}{}{}", known.empty() ? "" : ", ", key, remark);
    };
    for (const auto& [key, device] : devices) {
        add(key, "");
    }
    for (const auto& [id, names] : released) {
        add(key_of(names), " (released)");
    }
    for (const auto& [id, names] : disabled) {
        if (!devices.contains(key_of(names)) && !released.contains(id)) {
            add(key_of(names), " (disabled, not present)");
        }
    }
    return known.empty() ? fmt::format("there is no device `{}`: no RDMA device is present", name)
                         : fmt::format("there is no device `{}`; there are {}", name, known);
}

void Service::release_device(const std::string& device, Callback<std::vector<DeviceReconcile>> done)
{
    State& state = *state_;
    if (device.empty()) {
        done(fail(ErrorCode::InvalidArgument, "`device` is missing: which one is to be released?"));
        return;
    }
    const auto found = state.devices_to_manage(device);
    if (!found) {
        done(fail(found.error()));
        return;
    }
    for (const ManagedDevice* each : *found) {
        if (state.releasing.contains(each->key())) {
            done(fail(ErrorCode::Busy, fmt::format("{} is being released", each->key())));
            return;
        }
    }
    const auto results = std::make_shared<std::vector<DeviceReconcile>>();
    const auto all = Gathering::begin([results, done = std::move(done)](const Gathering::Missing& missing) {
        std::ranges::transform(missing, std::back_inserter(*results), &State::unanswered);
        done(std::move(*results));
    });
    for (const ManagedDevice* each : *found) {
        log(LogLevel::Notice, {{"DEVICE", each->key()}}, "{}: released (`rdma-qosctl release`)", each->key());
        state.released[id_of(each->info())] = names_of(each->info());
        state.releasing[each->key()] = nullptr;
        all->expect(each->key());
        state.let_go(each->key(), kDrainAttempts, results, all);
    }
    all->within(state.executor, kPatienceWithDevices);
    all->all_expected();
}

void Service::State::let_go(const std::string& key, std::uint32_t attempts, const SwitchResults& results,
                            const std::shared_ptr<Gathering>& all)
{
    const auto found = devices.find(key);
    if (found == devices.end()) {
        finish_release({key, 0, {{ElementPath("/"), "query", went_away(key), 1}}}, results, all);
        return;
    }
    found->second->drain([this, key, attempts, results, all](DeviceReconcile result) {
        const auto drained = devices.find(key);
        if (drained == devices.end()) {
            finish_release(std::move(result), results, all);
            return;
        }
        const auto status = drained->second->status();
        const bool empty = !status.snapshot || status.snapshot->actual.elements.empty();
        if (!empty && attempts > 1 && status.state != DeviceState::Gone) {
            releasing[key] = executor.after(
                kDrainPause, [this, key, attempts, results, all] { let_go(key, attempts - 1, results, all); });
            return;
        }
        for (const auto& failure : result.failures) {
            log(LogLevel::Warning, {{"DEVICE", key}}, "{} is let go of, but {} is left on it: {}", key,
                failure.path.text(), failure.error.message);
        }
        remove_device(key, [this, result = std::move(result), results, all] { finish_release(result, results, all); });
        notify([](ServiceObserver& observer) { observer.released_changed(); });
    });
}

void Service::State::finish_release(DeviceReconcile result, const SwitchResults& results,
                                    const std::shared_ptr<Gathering>& all)
{
    const std::string key = result.device;
    releasing.erase(key);
    results->push_back(std::move(result));
    all->came(key);
}

bool Service::wanted(Guid node_guid, std::uint32_t port) const
{
    return !state_->released.contains({node_guid, port});
}

void Service::device_vanished(Guid node_guid, std::uint32_t port)
{
    if (state_->released.erase({node_guid, port}) > 0) {
        state_->notify([](ServiceObserver& observer) { observer.released_changed(); });
    }
}

std::vector<std::string> Service::released_devices() const
{
    std::vector<std::string> keys;
    for (const auto& [id, names] : state_->released) {
        keys.push_back(key_of(names));
    }
    return keys;
}

}    // namespace rdmaqos
