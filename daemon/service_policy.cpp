// Service: reading, staging and taking a policy.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "daemon/last_good.h"
#include "daemon/service_state.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rdmaqos {
namespace {

constexpr const char* kSettingsPath = "/etc/rdma-qos/rdma-qosd.yaml";

}    // namespace

Completion Service::State::completion(std::function<void()> done) const
{
    return Completion(nullptr, [done = std::move(done), guard = std::weak_ptr<int>(alive)](void*) {
        if (!guard.expired()) {
            done();
        }
    });
}

Diagnostics Loaded::diagnostics() const
{
    Diagnostics all = settings.diagnostics;
    all.append(fabric.diagnostics);
    all.append(policy.diagnostics);
    return all;
}

Loaded load_files(const std::filesystem::path& root, const NameService& names)
{
    FabricFile fabric = load_fabric(root);
    auto policy = read_host_policy(root, names, fabric.read.value ? *fabric.read.value : Fabric{});
    return {read_settings(below_root(root, kSettingsPath)), std::move(fabric.read), fabric.stamp, std::move(policy)};
}

bool Staged::has_errors() const
{
    return std::any_of(findings.begin(), findings.end(), [](const auto& finding) { return finding.second.is_error; });
}

void Service::State::load(std::optional<std::shared_ptr<const SourceFile>> text, std::function<void(Loaded)> done)
{
    loader.submit_always([this, text = std::move(text), done = std::move(done), guard = std::weak_ptr<int>(alive),
                          root = options.root, names = options.names, with = settings, fabric = rules.fabric,
                          &loop = executor] {
        auto loaded = std::make_shared<Loaded>();
        if (text) {
            loaded->settings.value = std::make_shared<Settings>(with);
            loaded->fabric.value = fabric ? fabric : std::make_shared<const Fabric>();
            loaded->policy = read_policy({*text}, names, *loaded->fabric.value);
        } else {
            *loaded = load_files(root, names);
        }
        loop.post([this, guard, loaded, done] {
            if (!guard.expired()) {
                done(std::move(*loaded));
            }
        });
    });
}

Staged Service::State::stage(Rules new_rules, const Settings& new_settings) const
{
    Staged staged;
    staged.rules = std::move(new_rules);
    const ScheduleSpec spec = schedule_spec(*staged.rules.policy, new_settings.leaf_reserve);
    for (const auto& [id, session] : sessions) {
        staged.sessions.emplace(id, choose(staged.rules, session.request, *session.owner));
    }
    for (const auto& [key, device] : devices) {
        PlacementBook book = device->new_book();
        book.set_spec(spec);
        for (const std::uint32_t number : device->book().members_in_order()) {
            Member member = *device->book().find(number);
            const Session& session = sessions.at(member.session);
            member.membership =
                choose_for(session, member, staged.rules, staged.sessions.at(member.session)).membership;
            book.add(std::move(member));
        }
        static_cast<void>(book.update());
        for (const auto& finding : book.compiled().findings) {
            staged.findings.emplace_back(key, finding);
        }
        staged.devices.push_back({key, std::move(book)});
    }
    return staged;
}

void Service::State::commit(Staged staged, const Settings& with, std::function<void()> done)
{
    settings = with;
    limits.set_limits(settings.limits);
    for (const auto& [key, device] : devices) {
        device->set_settings(settings);
    }
    take_rules(std::move(staged), [this, done = std::move(done)] {
        notify([](ServiceObserver& observer) { observer.policy_changed(); });
        done();
    });
}

void Service::State::take_rules(Staged staged, std::function<void()> done)
{
    rules = std::move(staged.rules);
    for (auto& [id, choice] : staged.sessions) {
        sessions.at(id).choice = std::move(choice);
    }
    const Completion answer = completion([this, done = std::move(done)] {
        refresh_all();
        done();
    });
    for (auto& staged_device : staged.devices) {
        devices.at(staged_device.key)->adopt(std::move(staged_device.book), [answer] {});
    }
}

ReloadOutcome Service::start()
{
    State& state = *state_;
    Loaded loaded = load_files(state.options.root, state.options.names);
    ReloadOutcome outcome;
    outcome.diagnostics = loaded.settings.diagnostics;
    outcome.diagnostics.append(loaded.policy.diagnostics);
    outcome.accepted = loaded.settings.value && loaded.policy.value;
    state.fabric_stamp = loaded.fabric_stamp;
    if (!loaded.fabric.value) {
        // No reason to be without the policy: groups know then what was written in them, and this host's ports.
        state.fabric_error = render(loaded.fabric.diagnostics, Colour::Off);
        log(LogLevel::Error, "the fabric file cannot be used; nothing is known of the fabric:\n{}", state.fabric_error);
    } else {
        outcome.diagnostics.append(loaded.fabric.diagnostics);
    }
    if (loaded.settings.value) {
        state.settings = *loaded.settings.value;
        state.limits.set_limits(state.settings.limits);
    }
    auto policy = loaded.policy.value;
    if (outcome.accepted) {
        state.tally.last_good_reload = state.options.wall_clock();
    } else {
        state.reload_error = outcome.to_string(Colour::Off);
    }
    if (!policy) {
        const auto sources = load_last_good(state.options.root);
        if (!sources) {
            log(LogLevel::Error,
                "there is no last good policy either: {}; the next policy that can be used is kept instead of this file",
                to_string(sources.error()));
        } else if (!sources->empty()) {
            policy = read_policy(*sources, state.options.names, loaded.fabric.value ? *loaded.fabric.value : Fabric{})
                         .value;
            log(LogLevel::Warning, "the policy cannot be used; the last good one (revision {}) is in force",
                policy ? policy->revision : "none");
        }
    } else if (const auto saved = save_last_good(state.options.root, policy->sources); !saved) {
        log(LogLevel::Warning, "the policy is in force, but cannot be kept as the last good one: {}",
            to_string(saved.error()));
    }
    if (auto disabled = load_disabled(state.options.root)) {
        state.disabled = std::move(*disabled);
    } else {
        log(LogLevel::Error,
            "no device is disabled: {}; disable those that are to be left alone again (`rdma-qosctl disable`), which "
            "replaces the file",
            to_string(disabled.error()));
    }
    state.rules = state.make_rules(policy, loaded.fabric.value);
    outcome.revision = policy ? policy->revision : std::string{};
    return outcome;
}

void Service::reload(std::function<void(ReloadOutcome)> done)
{
    State& state = *state_;
    // One is being served, one waits; who asks meanwhile shares the one that waits, which reads the newest files.
    if (state.reloads.size() == 2) {
        state.reloads.back().waiting.push_back(std::move(done));
        return;
    }
    state.reloads.push_back({{std::move(done)}});
    if (state.reloads.size() == 1) {
        state.next_reload();
    }
}

void Service::State::next_reload()
{
    reload_started = clock.now();
    load(std::nullopt, [this](const Loaded& loaded) { finish_reload(loaded); });
}

void Service::State::finish_reload(const Loaded& loaded)
{
    auto outcome = std::make_shared<ReloadOutcome>();
    outcome->diagnostics = loaded.diagnostics();
    outcome->revision = rules.policy ? rules.policy->revision : std::string{};
    const auto answer = [this, outcome] {
        reload_error = outcome->accepted ? std::string{} : outcome->to_string(Colour::Off);
        tally.reloads.observe(clock.now() - reload_started);
        ++(outcome->accepted ? tally.reloads_accepted : tally.reloads_refused);
        if (outcome->accepted) {
            tally.last_good_reload = options.wall_clock();
            log(LogLevel::Notice, {{"REVISION", outcome->revision}}, "policy revision {} is in force",
                outcome->revision);
        } else {
            log(LogLevel::Error, {{"REVISION", outcome->revision}}, "reload refused, revision {} stays in force:\n{}",
                outcome->revision, reload_error);
        }
        const auto waiting = std::move(reloads.front().waiting);
        reloads.pop_front();
        for (const auto& done : waiting) {
            done(*outcome);
        }
        if (!reloads.empty()) {
            next_reload();
        }
    };
    if (!loaded.ok() || shutting_down) {
        answer();
        return;
    }
    Staged staged = stage(make_rules(loaded.policy.value, loaded.fabric.value), *loaded.settings.value);
    outcome->findings = staged.findings;
    if (staged.has_errors() && loaded.settings.value->on_unsupported == OnUnsupported::Error) {
        answer();
        return;
    }
    outcome->accepted = true;
    outcome->revision = loaded.policy.value->revision;
    fabric_stamp = loaded.fabric_stamp;
    set_fabric_error({});
    loader.submit_always([root = options.root, sources = loaded.policy.value->sources] {
        if (const auto saved = save_last_good(root, sources); !saved) {
            log(LogLevel::Warning, "the policy cannot be kept as the last good one: {}", to_string(saved.error()));
        }
    });
    commit(std::move(staged), *loaded.settings.value, answer);
}

void Service::check(std::shared_ptr<const SourceFile> policy, std::function<void(ReloadOutcome)> done)
{
    state_->load(std::move(policy), [state = state_.get(), done = std::move(done)](const Loaded& loaded) {
        ReloadOutcome outcome;
        outcome.diagnostics = loaded.diagnostics();
        if (loaded.ok()) {
            const Staged staged = state->stage(state->make_rules(loaded.policy.value, loaded.fabric.value),
                                               *loaded.settings.value);
            outcome.findings = staged.findings;
            outcome.revision = loaded.policy.value->revision;
            outcome.accepted = !staged.has_errors() || state->settings.on_unsupported == OnUnsupported::Degrade;
        }
        done(std::move(outcome));
    });
}

}    // namespace rdmaqos
