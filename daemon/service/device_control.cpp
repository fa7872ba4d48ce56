#include "daemon/service/device_control.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "daemon/device/device_names.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/base/try.h"

namespace rdmaqos {
namespace {

constexpr auto kDrainPause = std::chrono::milliseconds(100);
// What an answer waits for besides devices.
constexpr const char* kStateFile = "disabled-devices.json";

Error went_away(const std::string& key)
{
    return {ErrorCode::DeviceGone, 0, fmt::format("{} went away while it was being released", key)};
}

// Of all devices that a call of enable() is about. It is answered when none is open.
struct Enabling {
    std::vector<DeviceReconcile> results;
    std::optional<Error> error;
    std::size_t open = 0;
    Callback<std::vector<DeviceReconcile>> done;

    void close_one()
    {
        if (--open == 0) {
            done(error ? Result<std::vector<DeviceReconcile>>(fail(*error)) : std::move(results));
        }
    }
};

// That it could be asked to destroy once more.
bool has_elements(const ManagedDevice& device)
{
    const auto status = device.status();
    return status.snapshot && !status.snapshot->actual.elements.empty() && status.state != DeviceState::Gone;
}

// `what`: has become of the device.
void log_left(const DeviceReconcile& result, std::string_view what)
{
    for (const auto& failure : result.failures) {
        log(LogLevel::Warning, {{"DEVICE", result.device}}, "{} {}, but {} could not be removed from it: {}",
            result.device, what, failure.path.text(), failure.error.message);
    }
}

}    // namespace

void DeviceControl::add(std::unique_ptr<Backend> backend, std::shared_ptr<DeviceHandover> handover)
{
    auto device = std::make_unique<ManagedDevice>(std::move(backend), std::move(handover), policy_.settings(),
                                                  context_.executor, context_.clock, listener_, context_.ending);
    const std::string key = device->key();
    const DeviceInfo& info = device->info();
    if (context_.shutting_down) {
        return;    // nothing is built any more
    }
    if (!wanted(id_of(info))) {
        log(LogLevel::Info, {{"DEVICE", key}},
            "{} is not managed: it was released; `rdma-qosctl enable {}` manages "
            "it again",
            key, key);
        device->leave([] {});
        return;
    }
    if (devices_.refused.erase(id_of(info)) > 0) {
        context_.notify([](ServiceObserver& observer) { observer.refused_changed(); });
    }
    const AttachReport& attach = device->attach_report();
    const std::string mode(attach.postponed ? "not tested yet" : to_string(attach.mode));
    log_event(LogLevel::Notice, LogEvent::DevicePresent, LogOrigin::device(key),
              {{"DEVICE", key}, {"ATTACH_MODE", mode}}, "{}: {} {}, {}, attach mode {}", key, info.driver,
              to_string(info.link_layer), to_string(info.link_speed), mode);
    if (const auto off = devices_.disabled.find(id_of(info)); off != devices_.disabled.end()) {
        off->second = names_of(info);
        device->set_disabled(true, [](const DeviceReconcile&) {});
        log(LogLevel::Notice, {{"DEVICE", key}}, "{} is disabled (`rdma-qosctl disable`)", key);
    }
    remove(key, [] {});    // one that has gone and did not say so
    ManagedDevice& added = devices_.add(std::move(device));
    if (const auto& policy = policy_.policy()) {
        PlacementBook book = added.new_book();
        book.set_spec(schedule_spec(*policy, policy_.settings().leaf_reserve));
        added.adopt(std::move(book), [] {});
        for (const auto& finding : added.book().compiled().findings) {
            log(finding.is_error ? LogLevel::Error : LogLevel::Warning, {{"DEVICE", key}}, "{}: {}", key,
                to_string(finding));
        }
    }
    changes_.resolve_again(policy_.rules().fabric, fmt::format("{} came", key), [] {});
    grants_.refresh_all();
    context_.notify([&](ServiceObserver& observer) { observer.device_added(key); });
    awaited_.has_come(added);
}

void DeviceControl::remove(const std::string& device, LoopCallback<void()> closed)
{
    const std::string key = device;    // it may be the table's own, which goes
    std::unique_ptr<ManagedDevice> gone = devices_.take(key);
    if (!gone) {
        closed();
        return;
    }
    const std::size_t sessions = gone->sessions_until_now();
    log_event(sessions == 0 ? LogLevel::Notice : LogLevel::Warning, LogEvent::DeviceLost, LogOrigin::device(key),
              {{"DEVICE", key}}, "{} went away; {} had queue pairs on it", key, counted(sessions, "session"));
    // Its end answers calls that wait for it, which look at sessions: they must not name it any longer then.
    const auto hit = gone->sessions_hit();
    listener_.device_was_reset(key, {hit.begin(), hit.end()});
    changes_.resolve_again(policy_.rules().fabric, fmt::format("{} went away", key), [] {});
    context_.notify([&](ServiceObserver& observer) { observer.device_removed(key); });
    gone->leave(std::move(closed));
    // What called us may be a callback of it.
    context_.calls.defer([gone = std::move(gone)] {});
}

void DeviceControl::remove_soon(const std::string& key)
{
    context_.calls.defer([this, key] {
        // By then another may have its name.
        if (const ManagedDevice* device = devices_.find(key); device != nullptr && device->gone()) {
            remove(key, [] {});
        }
    });
}

void DeviceControl::switch_devices(const std::vector<ManagedDevice*>& which, bool off, const Results& results,
                                   Reconciled done)
{
    const auto kept = std::make_shared<Result<void>>();
    const auto all = Gathering::begin([this, results, kept, done = std::move(done)](const Gathering::Missing& missing) {
        grants_.refresh_all();
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
            done(fail(kept->error().with_context("it is done, but will not survive a restart")));
        }
    });
    for (ManagedDevice* device : which) {
        log(LogLevel::Notice, {{"DEVICE", device->key()}}, "{}: {}", device->key(), off ? "disabled" : "enabled");
        all->expect(device->key());
        device->set_disabled(off, [this, off, results, all, key = device->key(),
                                   before = ports_.steps(device->key())](DeviceReconcile result) {
            auto at_rest = [this, results, all, key, before, result = std::move(result)] {
                results->push_back(with_port(result, before));
                all->came(key);
            };
            if (off) {
                ports_.bring(key, std::move(at_rest));
            } else {
                ports_.begin_again(key, std::move(at_rest));
            }
        });
    }
    all->expect(kStateFile);
    context_.loader.run([root = context_.options.root, list = devices_.disabled] { return save_disabled(root, list); },
                        [this, kept, all](Result<void> saved) {
                            context_.note_saved(kDisabledFile, saved,
                                                "which devices are disabled will not be known after a restart");
                            *kept = std::move(saved);
                            all->came(kStateFile);
                        });
    all->within(context_.executor, kPatienceWithDevices);
    all->all_expected();
}

void DeviceControl::disable(const std::string& device, Reconciled done)
{
    const auto found = to_manage(device);
    if (!found) {
        done(fail(found.error()));
        return;
    }
    for (const ManagedDevice* each : *found) {
        devices_.disabled[id_of(each->info())] = names_of(each->info());
    }
    switch_devices(*found, true, std::make_shared<std::vector<DeviceReconcile>>(), std::move(done));
}

void DeviceControl::enable(const std::string& device, Reconciled done)
{
    if (const auto here = context_.not_ending(); !here) {
        done(fail(here.error()));
        return;
    }
    const auto results = std::make_shared<std::vector<DeviceReconcile>>();
    const ToEnable meant = clear_switches(device, *results);
    if (meant.off.empty() && results->empty() && meant.coming.empty() && !device.empty()) {
        done(fail(ErrorCode::UnknownDevice, devices_.unknown(device)));
        return;
    }

    const auto enabling = std::make_shared<Enabling>();
    enabling->done = std::move(done);
    enabling->open = meant.coming.size() + 2;
    for (const auto& [id, names] : meant.coming) {
        awaited_.await(id, names, [enabling](const DeviceReconcile& result) {
            enabling->results.push_back(result);
            enabling->close_one();
        });
    }
    begin_ports_again(std::exchange(*results, {}), [enabling](const Result<std::vector<DeviceReconcile>>& on) {
        if (on) {
            enabling->results.insert(enabling->results.begin(), on->begin(), on->end());
        } else {
            enabling->error = on.error();
        }
        enabling->close_one();
    });
    switch_devices(meant.off, false, results, [enabling](Result<std::vector<DeviceReconcile>> switched) {
        if (switched) {
            enabling->results.insert(enabling->results.begin(), switched->begin(), switched->end());
        } else {
            enabling->error = std::move(switched).error();
        }
        enabling->close_one();
    });
    if (!meant.released.empty()) {
        save_released();
        context_.notify([](ServiceObserver& observer) { observer.released_changed(); });
    }
    for (const auto& [id, names] : meant.released) {
        if (wanted_again_) {
            wanted_again_(id.node_guid, id.port);
        }
    }
}

void DeviceControl::begin_ports_again(std::vector<DeviceReconcile> on, Reconciled done)
{
    const auto results = std::make_shared<std::vector<DeviceReconcile>>();
    const auto all = Gathering::begin([results, done = std::move(done)](const Gathering::Missing& missing) {
        std::ranges::transform(missing, std::back_inserter(*results), &unanswered);
        done(std::move(*results));
    });
    for (const DeviceReconcile& each : on) {
        all->expect(each.device);
        ports_.begin_again(each.device, [this, each, before = ports_.steps(each.device), results, all] {
            results->push_back(with_port(each, before));
            all->came(each.device);
        });
    }
    all->within(context_.executor, kPatienceWithDevices);
    all->all_expected();
}

DeviceControl::ToEnable DeviceControl::clear_switches(const std::string& device, std::vector<DeviceReconcile>& results)
{
    ToEnable meant;
    const auto present = devices_.named(device);
    for (ManagedDevice* each : present ? *present : std::vector<ManagedDevice*>{}) {
        devices_.disabled.erase(id_of(each->info()));
        if (each->disabled()) {
            meant.off.push_back(each);
        } else {
            results.push_back({each->key(), 0, {}});
        }
    }
    const auto is_meant = [&](const auto& entry) { return device.empty() || has_name(entry.second, device); };
    meant.coming = awaited_.names();
    std::erase_if(meant.coming, [&](const auto& entry) { return !is_meant(entry); });
    std::ranges::copy_if(devices_.released, std::inserter(meant.released, meant.released.end()), is_meant);
    meant.coming.insert(meant.released.begin(), meant.released.end());
    std::erase_if(devices_.released, is_meant);
    std::erase_if(devices_.disabled, [&](const auto& entry) {
        const bool listed = std::ranges::find(results, key_of(entry.second), &DeviceReconcile::device) != results.end();
        if (is_meant(entry) && !listed && !meant.coming.contains(entry.first)) {
            results.push_back({key_of(entry.second), 0, {}});    // not present: there is nothing to wait for
        }
        return is_meant(entry);
    });
    return meant;
}

void DeviceControl::release(const std::string& device, Reconciled done)
{
    if (device.empty()) {
        done(fail(ErrorCode::InvalidArgument, "`device` is missing: name the device to release"));
        return;
    }
    const auto found = to_manage(device);
    if (!found) {
        done(fail(found.error()));
        return;
    }
    for (const ManagedDevice* each : *found) {
        if (releasing_.contains(each->key())) {
            done(fail(ErrorCode::Busy, fmt::format("{} is being released", each->key())));
            return;
        }
    }
    const auto results = std::make_shared<std::vector<DeviceReconcile>>();
    const auto all = Gathering::begin([results, done = std::move(done)](const Gathering::Missing& missing) {
        std::ranges::transform(missing, std::back_inserter(*results), &unanswered);
        done(std::move(*results));
    });
    for (const ManagedDevice* each : *found) {
        log(LogLevel::Notice, {{"DEVICE", each->key()}}, "{}: released (`rdma-qosctl release`)", each->key());
        devices_.released[id_of(each->info())] = names_of(each->info());
        releasing_[each->key()] = nullptr;
        all->expect(each->key());
        drain_and_remove(each->key(), kDrainAttempts, results, all);
    }
    save_released();
    all->within(context_.executor, kPatienceWithDevices);
    all->all_expected();
}

void DeviceControl::drain_and_remove(const std::string& key, std::uint32_t attempts, const Results& results,
                                     const std::shared_ptr<Gathering>& all)
{
    ManagedDevice* device = devices_.find(key);
    if (device == nullptr) {
        finish_release({key, 0, {{ElementPath("/"), "query", went_away(key), 1}}}, results, all);
        return;
    }
    device->drain([this, key, attempts, results, all](DeviceReconcile result) {
        const ManagedDevice* drained = devices_.find(key);
        if (drained == nullptr) {
            finish_release(std::move(result), results, all);
            return;
        }
        if (attempts > 1 && has_elements(*drained)) {
            releasing_[key] = context_.executor.after(kDrainPause, [this, key, attempts, results, all] {
                drain_and_remove(key, attempts - 1, results, all);
            });
            return;
        }
        log_left(result, "is released");
        ports_.let_go(key, [this, key, before = ports_.steps(key), result = std::move(result), results, all] {
            const ManagedDevice* still = devices_.find(key);
            const DeviceReconcile done = with_port(result, before);
            if (still == nullptr) {
                finish_release(done, results, all);
                return;
            }
            devices_.closing[key] = names_of(still->info());
            remove(key, [this, done, results, all] { finish_release(done, results, all); });
            context_.notify([](ServiceObserver& observer) { observer.released_changed(); });
        });
    });
}

void DeviceControl::empty_at_end(const std::string& key, const std::shared_ptr<Gathering>& all, std::uint32_t attempts)
{
    ManagedDevice* device = devices_.find(key);
    if (device == nullptr) {
        all->came(key);
        return;
    }
    device->drain([this, key, all, attempts](const DeviceReconcile& result) {
        const ManagedDevice* drained = devices_.find(key);
        if (drained == nullptr || attempts <= 1 || !has_elements(*drained)) {
            log_left(result, "is given up");
            all->came(key);
            return;
        }
        ending_[key] = context_.executor.after(kDrainPause,
                                               [this, key, all, attempts] { empty_at_end(key, all, attempts - 1); });
    });
}

void DeviceControl::finish_release(DeviceReconcile result, const Results& results,
                                   const std::shared_ptr<Gathering>& all)
{
    const std::string key = result.device;
    releasing_.erase(key);
    devices_.closing.erase(key);
    results->push_back(std::move(result));
    all->came(key);
}

DeviceReconcile DeviceControl::with_port(DeviceReconcile result, std::uint64_t before) const
{
    const std::uint64_t now = ports_.steps(result.device);
    result.operations += now >= before ? now - before : now;    // fewer: another port, by now
    if (auto failure = ports_.failure(result.device)) {
        result.failures.push_back(std::move(*failure));
    }
    return result;
}

void DeviceControl::save_released()
{
    context_.loader.run(
        [root = context_.options.root, list = devices_.released] { return rdmaqos::save_released(root, list); },
        [this](const Result<void>& saved) {
            const std::string failure = context_.note_saved(
                kReleasedFile, saved, "which devices are released will not be known after a restart");
            if (!saved) {
                log(LogLevel::Warning, "{}", failure);
            }
        });
}

void DeviceControl::not_managed(const DeviceInfo& port, std::string why)
{
    RefusedDevice now{names_of(port), std::move(why)};
    RefusedDevice& known = devices_.refused[id_of(port)];
    if (known != now) {
        known = std::move(now);
        context_.notify([](ServiceObserver& observer) { observer.refused_changed(); });
    }
}

void DeviceControl::vanished(const DeviceId& id)
{
    if (devices_.refused.erase(id) > 0) {
        context_.notify([](ServiceObserver& observer) { observer.refused_changed(); });
    }
    if (devices_.released.erase(id) > 0) {
        save_released();
        context_.notify([](ServiceObserver& observer) { observer.released_changed(); });
    }
}

Result<std::vector<ManagedDevice*>> DeviceControl::to_manage(const std::string& name) const
{
    TRY(context_.not_ending());
    return devices_.named(name);
}

void DeviceControl::reconcile(const std::string& device, Reconciled done)
{
    const auto devices = to_manage(device);
    if (!devices) {
        done(fail(devices.error()));
        return;
    }
    const auto results = std::make_shared<std::vector<DeviceReconcile>>();
    const auto all = Gathering::begin([results, done = std::move(done)](const Gathering::Missing& missing) {
        std::ranges::transform(missing, std::back_inserter(*results), &unanswered);
        done(std::move(*results));
    });
    for (ManagedDevice* each : *devices) {
        all->expect(each->key());
        each->reconcile_now([this, results, all, before = ports_.steps(each->key())](DeviceReconcile result) {
            const std::string key = result.device;
            ports_.begin_again(key, [this, key, before, results, all, result = std::move(result)] {
                results->push_back(with_port(result, before));
                all->came(key);
            });
        });
    }
    all->within(context_.executor, kPatienceWithDevices);
    all->all_expected();
}

void DeviceControl::port_changed(const DeviceId& id)
{
    for (const auto& [key, device] : devices_) {
        if (id_of(device->info()) == id) {
            device->refresh_info();
            return;
        }
    }
}

void DeviceControl::verify(const std::string& device, Callback<std::vector<DeviceDrift>> done)
{
    const auto devices = to_manage(device);
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
            done(fail(ErrorCode::Timeout, unanswered(missing.front()).failures.front().error.message));
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
        all->expect(each->key());
        ports_.compare(each->key(), [this, found, all,
                                     key = each->key()](Result<std::vector<port_classes::Difference>> result) {
            if (result && !result->empty()) {
                found->drifts.push_back({key, {}, {}, PortDifference{ports_.status(key).netdev, std::move(*result)}});
            } else if (!result && !found->error) {
                found->error = result.error();
            }
            all->came(key);
        });
    }
    all->within(context_.executor, kPatienceWithDevices);
    all->all_expected();
}

void DeviceControl::counters(const std::string& device, Callback<CounterReading> done)
{
    ManagedDevice* found = devices_.find(device);
    if (found == nullptr) {
        done(fail(ErrorCode::UnknownDevice, fmt::format("there is no device `{}` (any longer)", device)));
        return;
    }
    if (const auto room = found->has_room(); !room) {
        done(fail(room.error()));
        return;
    }
    found->counters(std::move(done));
}

}    // namespace rdmaqos
