#include "daemon/bus/signals.h"

#include <algorithm>

#include "daemon/bus/device_object.h"
#include "daemon/bus/manager_object.h"
#include "daemon/bus/object_paths.h"
#include "daemon/bus/session_object.h"
#include "daemon/bus/slices.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/session_reports.h"
#include "lib/bus/names.h"

namespace rdmaqos {
namespace {

namespace names = bus::names;

constexpr auto kWindow = std::chrono::milliseconds(20);

template <typename Write>
void emit(BusEndpoint& endpoint, const char* path, const char* interface, const char* member, const Write& write)
{
    sd_bus_message* raw = nullptr;
    if (sd_bus_message_new_signal(endpoint.connection->bus(), &raw, path, interface, member) < 0) {
        return;    // the connection is going down
    }
    const auto signal = bus::MessageRef::adopt(raw);
    bus::Writer writer(raw);
    write(writer);
    if (writer.result() >= 0) {
        endpoint.connection->send(raw);
    }
}

void emit_properties_changed(sd_bus* bus, const char* path, const char* interface, std::vector<const char*> names)
{
    if (!names.empty()) {
        names.push_back(nullptr);
        // It does not write to them.
        sd_bus_emit_properties_changed_strv(bus, path, interface,
                                            const_cast<char**>(names.data()));    // NOLINT(*-const-cast)
    }
}

}    // namespace

Signals::Signals(BusContext& context, const Listeners& listeners) : context_(context), listeners_(listeners)
{
    for (const auto id : context_.service.sessions().ids()) {
        context_.session_ids.insert(static_cast<std::uint64_t>(id));
        published_.changed(context_, session_path(id), session_properties());
    }
    for (const auto& key : context_.service.devices().keys()) {
        context_.device_keys.insert(key);
        published_.changed(context_, device_path(key), device_properties());
    }
    published_.changed(context_, names::kRoot, manager_properties());
    context_.service.context().add_observer(*this);
}

Signals::~Signals()
{
    context_.service.context().remove_observer(*this);
}

Signals::Change& Signals::change_of(std::string path, const char* interface)
{
    arm(kWindow);
    auto& change = changes_[std::move(path)];
    change.interface = interface;
    return change;
}

void Signals::arm(Duration delay)
{
    if (!timer_) {
        timer_ = context_.loop.after(delay, [this] { flush(); });
    }
}

void Signals::session_added(SessionId id)
{
    context_.session_ids.insert(static_cast<std::uint64_t>(id));
    change_of(session_path(id), names::kSession).added = true;
}

void Signals::session_removed(SessionId id)
{
    context_.session_ids.erase(static_cast<std::uint64_t>(id));
    context_.new_question();
    grants_.erase(id);
    const std::string path = session_path(id);
    if (const auto found = changes_.find(path); found != changes_.end() && found->second.added) {
        changes_.erase(found);    // nobody heard of it
    } else {
        change_of(path, names::kSession) = {names::kSession, true, false, false};
    }
}

void Signals::session_changed(SessionId id, bool grant_changed)
{
    context_.new_question();
    change_of(session_path(id), names::kSession).changed = true;
    if (grant_changed && grants_.insert(id).second && !grants_timer_) {
        grants_timer_ = context_.loop.after(Duration::zero(), [this] { emit_grants(); });
    }
}

void Signals::device_added(const std::string& key)
{
    context_.device_keys.insert(key);
    devices_to_tell_.insert(key);
    manager_changed();    // Features
    change_of(device_path(key), names::kDevice).added = true;
}

void Signals::device_removed(const std::string& key)
{
    context_.device_keys.erase(key);
    context_.new_question();
    devices_to_tell_.insert(key);
    manager_changed();
    change_of(device_path(key), names::kDevice) = {names::kDevice, true, false, false};
}

void Signals::device_changed(const std::string& key)
{
    context_.new_question();
    change_of(device_path(key), names::kDevice).changed = true;
    devices_to_tell_.insert(key);
}

void Signals::policy_changed()
{
    policy_changed_ = true;
    manager_changed();
}

void Signals::manager_changed()
{
    manager_changed_ = true;
    arm(kWindow);
}

void Signals::trial_changed(TrialStep step, const std::string& revision)
{
    trials_.emplace_back(step, revision);
    manager_changed();
}

void Signals::drift_repaired(const std::string& key, std::uint32_t count)
{
    drift_[key] += count;
    arm(kWindow);
}

void Signals::flush()
{
    timer_.reset();
    const auto to = listeners_.listeners();
    emit_manager(to);
    emit_device_states(to);
    emit_objects(to);
    for (auto* endpoint : to) {
        endpoint->connection->flush();
    }
    if (!changes_.empty()) {
        arm(Duration::zero());
    }
}

// For a moment; calls are served in between.
void Signals::emit_objects(const std::vector<BusEndpoint*>& to)
{
    const auto end = std::chrono::steady_clock::now() + kSlice;
    while (!changes_.empty() && std::chrono::steady_clock::now() < end) {
        const auto node = changes_.extract(changes_.begin());
        const auto& path = node.key();
        const auto& what = node.mapped();
        context_.new_question();
        if (what.removed) {
            published_.forget(path);
        }
        std::vector<const char*> changed;
        if (what.added || what.changed) {
            const auto properties = what.interface == names::kDevice ? device_properties() : session_properties();
            changed = published_.changed(context_, path, properties);
        }
        for (auto* endpoint : to) {
            sd_bus* bus = endpoint->connection->bus();
            if (what.removed) {
                sd_bus_emit_interfaces_removed(bus, path.c_str(), what.interface, nullptr);
            }
            if (what.added) {
                sd_bus_emit_interfaces_added(bus, path.c_str(), what.interface, nullptr);
            } else {
                emit_properties_changed(bus, path.c_str(), what.interface, changed);
            }
        }
    }
}

void Signals::emit_device_states(const std::vector<BusEndpoint*>& to)
{
    for (const auto& key : std::exchange(devices_to_tell_, {})) {
        const auto status = context_.service.devices().status(key);
        const std::string state(to_string(status ? status->state : DeviceState::Gone));
        auto& published = device_states_[key];
        if (published != state) {
            published = state;
            for (auto* endpoint : to) {
                emit(*endpoint, names::kRoot, names::kManager, "DeviceChanged", [&](bus::Writer& writer) {
                    writer.put(bus::ObjectPath{device_path(key)});
                    writer.put(state);
                });
            }
        }
        if (!status) {
            device_states_.erase(key);
        }
    }
}

void Signals::emit_manager(const std::vector<BusEndpoint*>& to)
{
    const auto drift = std::exchange(drift_, {});
    const auto trials = std::exchange(trials_, {});
    const bool new_policy = std::exchange(policy_changed_, false);
    const bool properties = std::exchange(manager_changed_, false);
    const auto policy = context_.service.in_force().policy();
    context_.new_question();
    std::vector<const char*> changed;
    if (properties) {
        changed = published_.changed(context_, names::kRoot, manager_properties());
    }
    for (auto* endpoint : to) {
        emit_properties_changed(endpoint->connection->bus(), names::kRoot, names::kManager, changed);
        if (new_policy) {
            emit(*endpoint, names::kRoot, names::kManager, "PolicyChanged",
                 [&](bus::Writer& writer) { writer.put(policy ? policy->revision : std::string()); });
        }
        for (const auto& [step, revision] : trials) {
            emit(*endpoint, names::kRoot, names::kManager, "TrialChanged",
                 [&step = step, &revision = revision](bus::Writer& writer) {
                     writer.put(to_string(step));
                     writer.put(revision);
                 });
        }
        for (const auto& [key, count] : drift) {
            emit(*endpoint, names::kRoot, names::kManager, "DriftRepaired",
                 [&key = key, &count = count](bus::Writer& writer) {
                     writer.put(bus::ObjectPath{device_path(key)});
                     writer.put(count);
                 });
        }
    }
}

void Signals::emit_grants()
{
    grants_timer_.reset();
    const auto listening = listeners_.listeners();
    const auto end = std::chrono::steady_clock::now() + kSlice;
    while (!grants_.empty() && std::chrono::steady_clock::now() < end) {
        const SessionId id = *grants_.begin();
        grants_.erase(grants_.begin());
        const auto session = context_.service.sessions().find(id);
        if (!session) {
            continue;
        }
        auto to = listening;
        auto* owner = listeners_.direct_endpoint(session->peer);
        if (owner != nullptr && std::ranges::find(to, owner) == to.end()) {
            to.push_back(owner);
        }
        for (auto* endpoint : to) {
            emit(*endpoint, session_path(id).c_str(), names::kSession, "GrantChanged",
                 [&](bus::Writer& writer) { write(writer, session->grant); });
        }
    }
    if (!grants_.empty()) {
        grants_timer_ = context_.loop.after(Duration::zero(), [this] { emit_grants(); });
    }
}

}    // namespace rdmaqos
