// Service: devices that are switched on again, and those of them that have to come first.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "daemon/service/session_table.h"
#include "lib/base/log.h"

namespace rdmaqos {
namespace {

// A device is opened and tests itself in a second or two; D-Bus libraries wait 25 s for an answer.
constexpr auto kTimeToCome = std::chrono::seconds(20);

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

DeviceReconcile not_taken(const DeviceNames& names, std::string why)
{
    return {key_of(names), 0, {{ElementPath(), "take", Error{ErrorCode::UnknownDevice, 0, std::move(why)}}}};
}

}    // namespace

void Service::enable(const std::string& device, Callback<std::vector<DeviceReconcile>> done)
{
    State& state = *state_;
    if (const auto here = state.not_ending(); !here) {
        done(fail(here.error()));
        return;
    }
    const auto present = state.devices_by_name(device);
    const auto results = std::make_shared<std::vector<DeviceReconcile>>();
    std::vector<ManagedDevice*> off;
    for (ManagedDevice* each : present ? *present : std::vector<ManagedDevice*>{}) {
        state.disabled.erase(id_of(each->info()));
        if (each->disabled()) {
            off.push_back(each);
        } else {
            results->push_back({each->key(), 0, {}});
        }
    }
    const auto is_meant = [&](const auto& entry) { return device.empty() || has_name(entry.second, device); };
    SwitchedOff coming;
    for (const auto& [id, awaited] : state.awaited) {
        if (is_meant(std::pair(id, awaited.names))) {
            coming.emplace(id, awaited.names);
        }
    }
    SwitchedOff again;
    std::ranges::copy_if(state.released, std::inserter(again, again.end()), is_meant);
    coming.insert(again.begin(), again.end());
    std::erase_if(state.released, is_meant);
    std::erase_if(state.disabled, [&](const auto& entry) {
        const bool listed = std::ranges::find(*results, key_of(entry.second), &DeviceReconcile::device) !=
                            results->end();
        if (is_meant(entry) && !listed && !coming.contains(entry.first)) {
            results->push_back({key_of(entry.second), 0, {}});    // not present: there is nothing to wait for
        }
        return is_meant(entry);
    });
    if (off.empty() && results->empty() && coming.empty() && !device.empty()) {
        done(fail(ErrorCode::UnknownDevice, state.unknown_device(device)));
        return;
    }

    const auto enabling = std::make_shared<Enabling>();
    enabling->done = std::move(done);
    enabling->open = coming.size() + 1;
    for (const auto& [id, names] : coming) {
        state.await(id, names, [enabling](const DeviceReconcile& result) {
            enabling->results.push_back(result);
            enabling->close_one();
        });
    }
    state.switch_devices(off, false, results, [enabling](Result<std::vector<DeviceReconcile>> switched) {
        if (switched) {
            enabling->results.insert(enabling->results.begin(), switched->begin(), switched->end());
        } else {
            enabling->error = std::move(switched).error();
        }
        enabling->close_one();
    });
    if (!again.empty()) {
        state.notify([](ServiceObserver& observer) { observer.released_changed(); });
    }
    for (const auto& [id, names] : again) {
        if (state.wanted_again) {
            state.wanted_again(id.node_guid, id.port);
        }
    }
}

void Service::State::await(const DeviceId& id, const DeviceNames& names, std::function<void(DeviceReconcile)> done)
{
    Awaited& one = awaited[id];
    one.names = names;
    one.done.push_back(std::move(done));
    if (!one.limit) {
        one.limit = executor.after(kTimeToCome, [this, id] {
            refuse_awaited(id, fmt::format("it has not come within {} s; it is taken when it comes, and the daemon's "
                                           "journal says what keeps it (`journalctl -u rdma-qosd`)",
                                           kTimeToCome.count()));
        });
    }
}

void Service::State::refuse_awaited(const DeviceId& id, std::string why)
{
    const auto node = awaited.extract(id);
    if (node.empty()) {
        return;
    }
    const DeviceReconcile result = not_taken(node.mapped().names, std::move(why));
    log(LogLevel::Warning, {{"DEVICE", result.device}}, "{} is enabled, but not here: {}", result.device,
        result.failures.front().error.message);
    for (const auto& done : node.mapped().done) {
        done(result);
    }
}

void Service::State::has_come(ManagedDevice& device)
{
    const auto node = awaited.extract(id_of(device.info()));
    if (node.empty()) {
        return;
    }
    device.reconcile_now([waiting = std::move(node.mapped().done)](const DeviceReconcile& reached) {
        for (const auto& done : waiting) {
            done(reached);
        }
    });
}

void Service::on_wanted_again(std::function<void(Guid, std::uint32_t)> look)
{
    state_->wanted_again = std::move(look);
}

void Service::device_refused(Guid node_guid, std::uint32_t port, const std::string& why)
{
    state_->refuse_awaited({node_guid, port}, why);
}

}    // namespace rdmaqos
