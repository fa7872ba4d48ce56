// Service: reading, staging and taking a policy.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "daemon/service/last_good.h"
#include "daemon/service/session_table.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "policy/load/policy_reader.h"

namespace rdmaqos {
void Service::State::commit(Staged staged, const Settings& with, Gathering::Done done)
{
    settings = with;
    limits.set_limits(settings.limits);
    for (const auto& [key, device] : devices) {
        device->set_settings(settings);
    }
    take_rules(std::move(staged), [this, done = std::move(done)](Gathering::Missing missing) {
        notify([](ServiceObserver& observer) { observer.policy_changed(); });
        done(std::move(missing));
    });
}

void Service::State::take_rules(Staged staged, Gathering::Done done)
{
    auto old = std::make_shared<const Rules>(std::exchange(rules, std::move(staged.rules)));
    for (auto& [id, choice] : staged.sessions) {
        sessions.at(id).choice = std::move(choice);
    }
    loader.discard(std::move(old));    // no choice points into it any longer
    const auto all = Gathering::begin([this, done = std::move(done)](Gathering::Missing missing) {
        refresh_all();
        for (const auto& key : missing) {
            device_status_changed(key);    // it says now that it does not answer
        }
        done(std::move(missing));
    });
    for (auto& staged_device : staged.devices) {
        all->expect(staged_device.key);
        devices.at(staged_device.key)->adopt(std::move(staged_device.book), [all, key = staged_device.key] {
            all->came(key);
        });
    }
    all->within(executor, kPatienceWithDevices);
    all->all_expected();
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
        state.fabric_error_unquoted = render(loaded.fabric.diagnostics, Colour::Off, Quote::Nothing);
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
        state.reload_error_unquoted = outcome.to_string(Colour::Off, Quote::Nothing);
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
    state.rules = make_rules(policy, loaded.fabric.value, state.local_ports());
    outcome.revision = policy ? policy->revision : std::string{};
    return outcome;
}

void Service::reload(LoopCallback<void(ReloadOutcome)> done)
{
    State& state = *state_;
    // One is being served, one waits; who asks meanwhile shares the one that waits, which reads the newest files.
    if (state.reloads.size() < 2) {
        state.reloads.emplace_back();
    }
    state.reloads.back().waiting.push_back(std::move(done));
    if (state.reloads.size() == 1 && state.reloads.front().waiting.size() == 1) {
        state.next_reload();
    }
}

void Service::State::next_reload()
{
    reload_started = clock.now();
    loader.run([reading = reading(nullptr)] { return read_and_stage(reading); },
               [this](Result<std::shared_ptr<Tried>> tried) {
                   finish_reload(tried);
                   if (tried) {
                       loader.discard(std::move(*tried));
                   }
               });
}

void Service::State::answer_reload(const ReloadOutcome& outcome)
{
    reload_error = outcome.accepted ? std::string{} : outcome.to_string(Colour::Off);
    reload_error_unquoted = outcome.accepted ? std::string{} : outcome.to_string(Colour::Off, Quote::Nothing);
    tally.reloads.observe(clock.now() - reload_started);
    ++(outcome.accepted ? tally.reloads_accepted : tally.reloads_refused);
    if (outcome.accepted) {
        tally.last_good_reload = options.wall_clock();
        log(LogLevel::Notice, {{"REVISION", outcome.revision}}, "policy revision {} is in force", outcome.revision);
        for (const auto& key : outcome.unanswered) {
            log(LogLevel::Warning, {{"DEVICE", key}}, "{}", unanswered(key).failures.front().error.message);
        }
    } else {
        log(LogLevel::Error, {{"REVISION", outcome.revision}}, "reload refused, revision {} stays in force:\n{}",
            outcome.revision, reload_error);
    }
    const auto waiting = std::move(reloads.front().waiting);
    reloads.pop_front();
    for (const auto& done : waiting) {
        done(outcome);
    }
    if (!reloads.empty()) {
        next_reload();
    }
}

void Service::State::finish_reload(const Result<std::shared_ptr<Tried>>& tried)
{
    ReloadOutcome outcome;
    outcome.revision = rules.policy ? rules.policy->revision : std::string{};
    if (!tried || shutting_down) {
        outcome.diagnostics.error({}, tried ? "rdma-qosd is ending; the policy stays as it is" : tried.error().message);
        answer_reload(outcome);
        return;
    }
    const Loaded& loaded = (*tried)->loaded;
    outcome.diagnostics = loaded.diagnostics();
    if (!(*tried)->staged) {
        answer_reload(outcome);
        return;
    }
    Staged staged = std::move(*(*tried)->staged);
    if ((*tried)->scene.mark != scene_mark()) {
        staged = stage(scene(Books::Borrowed), std::move(staged.rules), *loaded.settings.value);
    }
    const bool ports_changed = (*tried)->scene.ports != local_ports();
    outcome.findings = staged.findings;
    if (staged.has_errors() && loaded.settings.value->on_unsupported == OnUnsupported::Error) {
        answer_reload(outcome);
        return;
    }
    outcome.accepted = true;
    outcome.revision = loaded.policy.value->revision;
    fabric_stamp = loaded.fabric_stamp;
    set_fabric_error({}, {});
    loader.run([root = options.root, sources = loaded.policy.value->sources] { return save_last_good(root, sources); },
               [](const Result<void>& saved) {
                   if (!saved) {
                       log(LogLevel::Warning, "the policy cannot be kept as the last good one: {}",
                           to_string(saved.error()));
                   }
               });
    commit(std::move(staged), *loaded.settings.value, [this, outcome](Gathering::Missing missing) mutable {
        outcome.unanswered = std::move(missing);
        answer_reload(outcome);
    });
    if (ports_changed) {
        resolve_again(rules.fabric, "ports of this host changed while the policy was read", [] {});
    }
}

}    // namespace rdmaqos
