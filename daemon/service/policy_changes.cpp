#include "daemon/service/policy_changes.h"

#include <chrono>
#include <set>
#include <utility>

#include "daemon/service/lost_levels.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rdmaqos {
namespace {

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

}    // namespace

Scene PolicyChanges::scene(Books books) const
{
    Scene now;
    now.ports = devices_.local_ports();
    now.policy = policy_.policy();
    now.now = context_.options.wall_clock();
    now.mark = scene_mark();
    for (const auto& [id, session] : sessions_) {
        now.sessions.push_back({id, session.request, session.owner, !session.device.empty(),
                                session.queue_pair_count() > 0, session.choice.membership.level,
                                session.choice.membership.lost, session.adopted});
    }
    for (const auto& [key, device] : devices_) {
        auto book = books == Books::Copied
                        ? std::make_shared<const PlacementBook>(device->book())
                        : std::shared_ptr<const PlacementBook>(std::shared_ptr<void>(), &device->book());
        const AttachReport& attach = device->attach_report();
        now.devices.push_back({key, std::move(book), device->new_book(), device->info().link_speed,
                               shares_between_processes(attach.mode), !attach.postponed, device->held_back()});
        if (device->disabled()) {
            now.left_out.push_back({key, LeftOutDevice::Why::Disabled});
        }
    }
    for (const auto& [id, names] : devices_.released) {
        now.left_out.push_back({key_of(names), LeftOutDevice::Why::Released});
    }
    return now;
}

std::vector<std::uint64_t> PolicyChanges::scene_mark() const
{
    std::vector<std::uint64_t> mark{sessions_.next(), sessions_.size(), devices_.changes(), devices_.released.size()};
    for (const auto& [key, device] : devices_) {
        mark.push_back(device->changes());
        mark.push_back(device->held_back() ? 1 : 0);
    }
    return mark;
}

Reading PolicyChanges::reading(std::shared_ptr<const SourceFile> text) const
{
    Reading reading{context_.options.root, context_.options.names, context_.options.wall_clock(), std::move(text),
                    policy_.settings(),    policy_.rules().fabric, scene(Books::Copied)};
    if (context_.options.why_ports_cannot_be_set) {
        reading.why_ports_cannot_be_set = context_.options.why_ports_cannot_be_set();
    }
    return reading;
}

void PolicyChanges::test_devices(const Rules& rules, const Settings& settings, LoopCallback<void()> done)
{
    const auto all = Gathering::begin([done = std::move(done)](const Gathering::Missing&) { done(); });
    if (makes_elements(rules.policy.get(), settings)) {
        for (const auto& [key, device] : devices_) {
            if (device->attach_report().postponed && !device->held_back()) {
                all->expect(key);
                device->test_attaching([all, key = key](const Result<void>&) { all->came(key); });
            }
        }
    }
    all->within(context_.executor, kPatienceWithDevices);
    all->all_expected();
}

void PolicyChanges::commit(Staged staged, const Settings& settings, Gathering::Done done)
{
    policy_.set_settings(settings);
    sessions_.limits.set_limits(settings.limits);
    for (const auto& [key, device] : devices_) {
        device->set_settings(settings);
    }
    take_rules(std::move(staged), [this, done = std::move(done)](Gathering::Missing missing) {
        context_.notify([](ServiceObserver& observer) { observer.policy_changed(); });
        done(std::move(missing));
    });
}

void PolicyChanges::take_rules(Staged staged, Gathering::Done done)
{
    auto old = std::make_shared<const Rules>(policy_.replace(std::move(staged.rules)));
    for (auto& [id, choice] : staged.sessions) {
        sessions_.at(id).choice = std::move(choice);
    }
    log_lost_levels(staged.losses, staged.renamings, policy_.revision());
    context_.loader.discard(std::move(old));    // no choice points into it any longer
    const auto all = Gathering::begin([this, done = std::move(done)](Gathering::Missing missing) {
        grants_.refresh_all();
        for (const auto& key : missing) {
            // It says now that it does not answer.
            context_.notify([&](ServiceObserver& observer) { observer.device_changed(key); });
        }
        done(std::move(missing));
    });
    for (auto& staged_device : staged.devices) {
        all->expect(staged_device.key);
        devices_.at(staged_device.key).adopt(std::move(staged_device.book), [this, all, key = staged_device.key] {
            ports_.bring(key, [all, key] { all->came(key); });
        });
    }
    all->within(context_.executor, kPatienceWithDevices);
    all->all_expected();
}

void PolicyChanges::resolve_again(std::shared_ptr<const Fabric> fabric, std::string_view cause,
                                  LoopCallback<void()> done)
{
    policy_.set_fabric(std::move(fabric));
    const Rules& rules = policy_.rules();
    if (context_.shutting_down || !rules.policy) {
        done();
        return;
    }
    ResolvedGroups groups = resolve(*rules.policy, *rules.fabric, devices_.local_ports());
    if (groups == rules.matcher->groups()) {
        done();
        return;
    }
    const std::size_t changed = count_changed(rules.matcher->groups(), groups);
    Rules next = rules;
    next.matcher = std::make_shared<const Matcher>(*rules.policy, std::move(groups));
    Scene now = scene(Books::Borrowed);
    now.is_for_reload = false;
    Staged staged = stage(now, std::move(next), policy_.settings());
    std::set<SessionId> moved;
    for (const auto& change : session_changes(now, staged)) {
        moved.insert(change.session);
    }
    if (changed > 0 || !moved.empty()) {
        log(LogLevel::Notice, "{}: {} of {} with other members, {} with another level or leaf", cause, changed,
            counted(rules.policy->groups.size(), "port group"), counted(moved.size(), "session"));
    }
    take_rules(std::move(staged), [this, done = std::move(done)](const Gathering::Missing&) {
        context_.notify([](ServiceObserver& observer) { observer.groups_changed(); });
        done();
    });
}

void PolicyChanges::resolve_soon()
{
    if (!resolving_) {
        resolving_ = context_.executor.after(kPortsSettle, [this] {
            resolving_.reset();
            resolve_again(policy_.rules().fabric, "ports of this host changed", [] {});
        });
    }
}

}    // namespace rdmaqos
