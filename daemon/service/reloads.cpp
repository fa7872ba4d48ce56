#include "daemon/service/reloads.h"

#include <utility>

#include "daemon/service/last_good.h"
#include "lib/base/log.h"
#include "policy/load/policy_reader.h"
#include "policy/load/transient_files.h"
#include "policy/match/hidden_rules.h"

namespace rdmaqos {

std::shared_ptr<const Policy> Reloads::last_good(const Fabric& fabric) const
{
    auto sources = load_last_good(context_.options.root);
    if (!sources) {
        log(LogLevel::Error,
            "there is no last good policy either: {}; the next policy that can be used is kept instead of this file",
            to_string(sources.error()));
        return nullptr;
    }
    if (sources->empty()) {
        return nullptr;
    }
    // What was for a job or a container is not for the next one.
    std::erase_if(*sources, [&](const auto& source) {
        return !is_still_there(*source, context_.options.root, context_.options.wall_clock());
    });
    auto policy = read_policy(*sources, context_.options.names, fabric).value;
    log(LogLevel::Warning, "the policy cannot be used; the last good one (revision {}) is in force",
        policy ? policy->revision : "none");
    return policy;
}

ReloadOutcome Reloads::start()
{
    Loaded loaded = load_files(context_.options.root, context_.options.names, context_.options.wall_clock());
    policy_.transient_files = loaded.transient_files;
    ReloadOutcome outcome;
    outcome.diagnostics = loaded.settings.diagnostics;
    outcome.diagnostics.append(loaded.policy.diagnostics);
    outcome.accepted = loaded.settings.value && loaded.policy.value;
    policy_.set_fabric_stamp(loaded.fabric_stamp);
    if (!loaded.fabric.value) {
        // No reason to be without the policy: groups know then what was written in them, and this host's ports.
        policy_.fabric_diagnostics = with_excerpts(loaded.fabric.diagnostics);
        log(LogLevel::Error, "the fabric file cannot be used; nothing is known of the fabric:\n{}",
            render(loaded.fabric.diagnostics, Colour::Off));
    } else {
        outcome.diagnostics.append(loaded.fabric.diagnostics);
    }
    if (loaded.settings.value) {
        policy_.set_settings(*loaded.settings.value);
        sessions_.limits.set_limits(policy_.settings().limits);
    }
    auto policy = loaded.policy.value;
    if (outcome.accepted) {
        metrics_.policy_accepted_at_start();
    }
    if (!policy) {
        policy = last_good(loaded.fabric.value ? *loaded.fabric.value : Fabric{});
    } else if (const auto saved = save_last_good(context_.options.root, policy->sources); !saved) {
        log(LogLevel::Warning, "the policy is in force, but cannot be saved as the last good one: {}",
            to_string(saved.error()));
    }
    if (auto disabled = load_disabled(context_.options.root)) {
        devices_.disabled = std::move(*disabled);
    } else {
        log(LogLevel::Error,
            "no device is disabled: {}; disable those that are to be left alone again (`rdma-qosctl disable`), which "
            "replaces the file",
            to_string(disabled.error()));
    }
    policy_.replace(make_rules(policy, loaded.fabric.value, devices_.local_ports()));
    if (loaded.policy.value) {
        outcome.diagnostics.append(warnings_of_hidden_rules(*policy_.rules().matcher));
    }
    outcome.revision = policy ? policy->revision : std::string{};
    remember(outcome);
    return outcome;
}

void Reloads::reload(LoopCallback<void(ReloadOutcome)> done)
{
    // One is being served, one waits; who asks meanwhile shares the one that waits, which reads the newest files.
    if (pending_.size() < 2) {
        pending_.emplace_back();
    }
    pending_.back().waiting.push_back(std::move(done));
    if (pending_.size() == 1 && pending_.front().waiting.size() == 1) {
        next();
    }
}

void Reloads::next()
{
    started_ = context_.clock.now();
    context_.loader.run([reading = changes_.reading(nullptr)] { return read_and_stage(reading); },
                        [this](Result<std::shared_ptr<Tried>> tried) { test_devices(std::move(tried)); });
}

void Reloads::test_devices(Result<std::shared_ptr<Tried>> tried)
{
    if (!tried || !(*tried)->staged) {
        finish(std::move(tried));
        return;
    }
    const Tried& read = **tried;
    changes_.test_devices(read.staged->rules, *read.loaded.settings.value,
                          [this, tried = std::move(tried)]() mutable { finish(std::move(tried)); });
}

void Reloads::remember(const ReloadOutcome& outcome)
{
    policy_.last_reload = outcome;
    policy_.last_reload.diagnostics = with_excerpts(outcome.diagnostics);
}

void Reloads::answer(const ReloadOutcome& outcome)
{
    remember(outcome);
    metrics_.reload_answered(outcome.accepted, context_.clock.now() - started_);
    if (outcome.accepted) {
        // Devices without an answer have a line each, below.
        const std::string text = ReloadOutcome{true, {}, outcome.diagnostics, outcome.findings, {}}.to_text();
        log_event(text.empty() ? LogLevel::Notice : LogLevel::Warning, LogEvent::PolicyApplied, {},
                  {{"REVISION", outcome.revision}}, "policy revision {} is in force{}{}", outcome.revision,
                  text.empty() ? "" : ":\n", text);
        for (const auto& key : outcome.unanswered) {
            log(LogLevel::Warning, {{"DEVICE", key}}, "{}", unanswered(key).failures.front().error.message);
        }
    } else {
        log_event(LogLevel::Error, LogEvent::PolicyRejected, {}, {{"REVISION", outcome.revision}},
                  "reload refused, revision {} stays in force:\n{}", outcome.revision, outcome.to_text());
    }
    context_.notify([](ServiceObserver& observer) { observer.reload_answered(); });
    const auto waiting = std::move(pending_.front().waiting);
    pending_.pop_front();
    for (const auto& done : waiting) {
        done(outcome);
    }
    if (!pending_.empty()) {
        next();
    }
}

void Reloads::finish(Result<std::shared_ptr<Tried>> tried)
{
    take(tried);
    if (tried) {
        context_.loader.discard(std::move(*tried));
    }
}

void Reloads::take(const Result<std::shared_ptr<Tried>>& tried)
{
    ReloadOutcome outcome;
    outcome.revision = policy_.revision();
    if (!tried || context_.shutting_down) {
        outcome.diagnostics.error({},
                                  tried ? "rdma-qosd is stopping; the policy was not changed" : tried.error().message);
        answer(outcome);
        return;
    }
    const Loaded& loaded = (*tried)->loaded;
    outcome.diagnostics = loaded.diagnostics();
    policy_.transient_files = loaded.transient_files;
    if (!(*tried)->staged) {
        answer(outcome);
        return;
    }
    Staged staged = std::move(*(*tried)->staged);
    if ((*tried)->scene.mark != changes_.scene_mark()) {
        staged = stage(changes_.scene(PolicyChanges::Books::Borrowed), std::move(staged.rules), *loaded.settings.value);
    }
    const bool ports_changed = (*tried)->scene.ports != devices_.local_ports();
    outcome.findings = staged.findings;
    if (staged.is_refused) {
        answer(outcome);
        return;
    }
    outcome.accepted = true;
    outcome.losses = staged.losses;
    outcome.revision = loaded.policy.value->revision;
    policy_.set_fabric_stamp(loaded.fabric_stamp);
    if (!std::exchange(policy_.fabric_diagnostics, {}).empty()) {
        context_.notify([](ServiceObserver& observer) { observer.fabric_changed(); });
    }
    context_.loader.run([root = context_.options.root,
                         sources = loaded.policy.value->sources] { return save_last_good(root, sources); },
                        [](const Result<void>& saved) {
                            if (!saved) {
                                log(LogLevel::Warning, "the policy cannot be saved as the last good one: {}",
                                    to_string(saved.error()));
                            }
                        });
    changes_.commit(std::move(staged), *loaded.settings.value, [this, outcome](Gathering::Missing missing) mutable {
        outcome.unanswered = std::move(missing);
        answer(outcome);
    });
    if (ports_changed) {
        changes_.resolve_again(policy_.rules().fabric, "ports of this host changed while the policy was read", [] {});
    }
}

}    // namespace rdmaqos
