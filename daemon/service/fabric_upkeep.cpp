// Service: what port groups are looked up by, the fabric file and the ports of this host, changes while it runs.
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "daemon/service/session_table.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "policy/yaml/fabric_reader.h"

namespace rdmaqos {
namespace {

constexpr const char* kFabricPath = "/etc/rdma-qos/fabric.yaml";
// A subnet manager that sets a port up changes its addresses, its P_Keys and its state one after the other.
constexpr auto kPortsSettle = std::chrono::milliseconds(100);

std::size_t count_changed(const ResolvedGroups& before, const ResolvedGroups& after)
{
    std::size_t changed = 0;
    for (std::size_t group = 0; group < after.groups.size(); ++group) {
        changed += before.groups.at(group) == after.groups[group] ? 0 : 1;
    }
    return changed;
}

std::string describe(const Fabric& fabric)
{
    return fmt::format("{} and {}", counted(fabric.ports.size(), "port"),
                       counted(fabric.partitions.size(), "partition"));
}

}    // namespace

FabricFile load_fabric(const std::filesystem::path& root)
{
    const auto path = below_root(root, kFabricPath);
    const FileStamp stamp = stamp_of(path);    // before it is read: what is written meanwhile is read again
    return {stamp, read_fabric(path)};
}

std::filesystem::path Service::fabric_file() const
{
    return below_root(state_->options.root, kFabricPath);
}

std::string Service::fabric_error(Quote quote) const
{
    return quote == Quote::Lines ? state_->fabric_error : state_->fabric_error_unquoted;
}

std::vector<LocalPort> Service::State::local_ports() const
{
    std::vector<LocalPort> local;
    for (const auto& [key, device] : devices) {
        const DeviceInfo& info = device->info();
        local.push_back({info.port_guid, info.node_guid, info.port, info.gids, info.pkeys, info.node_description});
    }
    return local;
}

void Service::State::resolve_again(std::shared_ptr<const Fabric> fabric, std::string_view cause,
                                   LoopCallback<void()> done)
{
    rules.fabric = fabric ? std::move(fabric) : std::make_shared<const Fabric>();
    if (shutting_down || !rules.policy) {
        done();
        return;
    }
    ResolvedGroups groups = resolve(*rules.policy, *rules.fabric, local_ports());
    if (groups == rules.matcher->groups()) {
        done();
        return;
    }
    const std::size_t changed = count_changed(rules.matcher->groups(), groups);
    Rules next = rules;
    next.matcher = std::make_shared<const Matcher>(*rules.policy, std::move(groups));
    const Scene now = scene(Books::Borrowed);
    Staged staged = stage(now, std::move(next), settings);
    std::set<SessionId> moved;
    for (const auto& change : session_changes(now, staged)) {
        moved.insert(change.session);
    }
    if (changed > 0 || !moved.empty()) {
        log(LogLevel::Notice, "{}: {} of {} with other members, {} with another level or leaf", cause, changed,
            counted(rules.policy->groups.size(), "port group"), counted(moved.size(), "session"));
    }
    take_rules(std::move(staged), [done = std::move(done)](const Gathering::Missing&) { done(); });
}

void Service::State::resolve_soon()
{
    if (!resolving) {
        resolving = executor.after(kPortsSettle, [this] {
            resolving.reset();
            resolve_again(rules.fabric, "ports of this host changed", [] {});
        });
    }
}

void Service::State::device_addresses_changed(const std::string& /*device*/)
{
    resolve_soon();
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

void Service::State::set_fabric_error(std::string error, std::string unquoted)
{
    if (error != fabric_error) {
        fabric_error = std::move(error);
        fabric_error_unquoted = std::move(unquoted);
        notify([](ServiceObserver& observer) { observer.fabric_changed(); });
    }
}

void Service::State::finish_fabric(const FabricFile& file, LoopCallback<void()> done)
{
    const FileStamp before = std::exchange(fabric_stamp, file.stamp);
    const std::string text = render(file.read.diagnostics, Colour::Off);
    if (!file.read.value) {
        if (text != fabric_error) {
            log(LogLevel::Error, "the fabric file cannot be used; what was known of the fabric stays:\n{}", text);
        }
        set_fabric_error(text, render(file.read.diagnostics, Colour::Off, Quote::Nothing));
        done();
        return;
    }
    const bool was_wrong = !fabric_error.empty();
    set_fabric_error({}, {});
    if (*file.read.value == *rules.fabric) {
        if (was_wrong) {
            log(LogLevel::Notice, "the fabric file can be used again; it says what was known");
        }
        done();
        return;
    }
    if (file.stamp == FileStamp{} && before != FileStamp{}) {
        log(LogLevel::Notice, "the fabric file is gone: nothing is known of the fabric any longer");
    } else {
        log(file.read.diagnostics.empty() ? LogLevel::Notice : LogLevel::Warning,
            "the fabric file was read again: {}{}{}", describe(*file.read.value), text.empty() ? "" : "\n", text);
    }
    notify([](ServiceObserver& observer) { observer.fabric_changed(); });
    resolve_again(file.read.value, "the fabric changed", std::move(done));
}

void Service::reread_fabric(LoopCallback<void()> done)
{
    State& state = *state_;
    state.loader.run([root = state.options.root] { return load_fabric(root); },
                     [&state, done = std::move(done)](Result<FabricFile> file) mutable {
                         if (file) {
                             state.finish_fabric(*file, std::move(done));
                         } else {
                             done();    // it is logged
                         }
                     });
}

void Service::look_at_fabric(LoopCallback<void()> done)
{
    state_->loader.run([path = fabric_file()] { return stamp_of(path); },
                       [this, done = std::move(done)](const Result<FileStamp>& stamp) mutable {
                           if (!stamp || *stamp == state_->fabric_stamp) {
                               done();
                           } else {
                               reread_fabric(std::move(done));
                           }
                       });
}

}    // namespace rdmaqos
