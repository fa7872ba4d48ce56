#include "daemon/service/reloads.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/service/last_good.h"
#include "daemon/service/state_file.h"
#include "lib/base/log.h"
#include "policy/load/policy_reader.h"
#include "policy/load/transient_files.h"
#include "policy/match/hidden_rules.h"

namespace rdmaqos {

std::shared_ptr<const Policy> Reloads::last_good(const Loaded& loaded) const
{
    auto sources = load_last_good(context_.options.root);
    if (!sources) {
        log(LogLevel::Error, "{}: {}; the next policy that can be used is kept instead of this file",
            loaded.policy.value ? "what was in force before is not known" : "there is no last good policy either",
            to_string(sources.error()));
        return nullptr;
    }
    // What was for a job or a container is not for the next one.
    std::erase_if(*sources, [&](const auto& source) {
        return !is_still_there(*source, context_.options.root, context_.options.wall_clock());
    });
    if (sources->empty()) {
        return nullptr;
    }
    const auto& read = loaded.policy.value;
    const auto same = [](const auto& a, const auto& b) { return a->name == b->name && a->text == b->text; };
    if (read && std::ranges::equal(read->sources, *sources, same)) {
        return read;
    }
    const Fabric fabric = loaded.fabric.value ? *loaded.fabric.value : Fabric{};
    // With the rules and overrides of now: those that came while the files could not be used were in force, too.
    auto kept = read_running_policy(context_.options.root, *sources, context_.options.names, fabric).value;
    return kept ? kept : read_policy(*sources, context_.options.names, fabric).value;
}

void Reloads::read_files()
{
    remove_temporaries(context_.options.root);
    Loaded loaded = load_files(context_.options.root, context_.options.names, context_.options.wall_clock());
    policy_.transient_files = loaded.transient_files;
    policy_.set_fabric_stamp(loaded.fabric_stamp);
    if (!loaded.fabric.value) {
        // No reason to be without the policy: groups know then what was written in them, and this host's ports.
        policy_.fabric_diagnostics = with_excerpts(loaded.fabric.diagnostics);
        log(LogLevel::Error, "the fabric file cannot be used; nothing is known of the fabric:\n{}",
            render(loaded.fabric.diagnostics, Colour::Off));
    }
    if (loaded.settings.value) {
        policy_.set_settings(*loaded.settings.value);
        if (context_.options.why_ports_cannot_be_set) {
            // The other settings are in force; ports are reported only, and the start is one with an error.
            check_privilege(loaded.settings, context_.options.why_ports_cannot_be_set());
            if (!loaded.settings.value) {
                Settings without = policy_.settings();
                without.port_classes = PortClassesSetting::Report;
                policy_.set_settings(without);
            }
        }
        sessions_.limits.set_limits(policy_.settings().limits);
    }
    if (auto disabled = load_disabled(context_.options.root)) {
        devices_.disabled = std::move(*disabled);
    } else {
        const std::string failure = fmt::format(
            "no device is disabled: {}; disable those that are to be left alone again (`rdma-qosctl "
            "disable`), which replaces the file",
            to_string(disabled.error()));
        log(LogLevel::Error, "{}", failure);
        context_.note_state(kDisabledFile, {failure});
    }
    if (auto released = load_released(context_.options.root)) {
        devices_.released = std::move(*released);
    } else {
        const std::string failure = fmt::format(
            "no device is released: {}; release those that are to be left alone again", to_string(released.error()));
        log(LogLevel::Error, "{}", failure);
        context_.note_state(kReleasedFile, {failure});
    }
    auto last = last_good(loaded);
    first_ = FirstReading{std::move(loaded), std::move(last)};
}

std::shared_ptr<const Policy> Reloads::policy_to_run() const
{
    if (!first_) {
        return policy_.policy();
    }
    return first_->loaded.policy.value ? first_->loaded.policy.value : first_->last_good;
}

void Reloads::start(LoopCallback<void(ReloadOutcome)> done)
{
    if (!first_) {
        read_files();
    }
    const FirstReading read = *std::exchange(first_, std::nullopt);
    const Loaded& loaded = read.loaded;
    ReloadOutcome outcome;
    outcome.diagnostics = loaded.settings.diagnostics;
    outcome.diagnostics.append(loaded.policy.diagnostics);
    if (loaded.fabric.value) {
        outcome.diagnostics.append(loaded.fabric.diagnostics);
    }
    outcome.accepted = loaded.settings.value && loaded.policy.value;
    // What ran before the start stands for what runs.
    Scene scene = changes_.scene(PolicyChanges::Books::Borrowed);
    std::optional<Staged> last = try_first(read.last_good, loaded, scene);
    if (last) {
        scene = running_in(std::move(scene), *last);
    }
    std::optional<Staged> next = try_first(loaded.policy.value, loaded, scene);
    if (next) {
        outcome.diagnostics.append(warnings_of_hidden_rules(*next->rules.matcher));
        outcome.findings = next->findings;
        outcome.left_out = next->left_out;
        outcome.accepted = outcome.accepted && next->is_accepted();
    }
    if (outcome.accepted) {
        tally_.policy_accepted_at_start();
    }
    const bool is_newest = next && next->is_accepted();
    std::optional<Staged>& first = is_newest ? next : last;
    if (first) {
        outcome.revision = first->rules.policy->revision;
    }
    set_last_reload(outcome);
    // Reloads that are asked for meanwhile come after it.
    pending_.push_back({Kind::Start, {}});
    pending_.front().waiting.push_back(std::move(done));
    auto answered = [this, outcome](Gathering::Missing missing) mutable {
        add_answers(std::move(missing), outcome);
        set_last_reload(outcome);
        end_request(outcome);
    };
    if (first) {
        run_first(std::move(*first), is_newest, std::move(answered));
    } else {
        policy_.replace(make_rules(nullptr, loaded.fabric.value, scene.ports));
        answered({});
    }
}

std::optional<Staged> Reloads::try_first(const std::shared_ptr<const Policy>& policy, const Loaded& loaded,
                                         const Scene& scene) const
{
    if (!policy) {
        return std::nullopt;
    }
    return stage(scene, make_rules(policy, loaded.fabric.value, scene.ports), policy_.settings());
}

void Reloads::run_first(Staged staged, bool is_newest, Gathering::Done done)
{
    const Policy& policy = *staged.rules.policy;
    if (!is_newest) {
        log(LogLevel::Warning, "the policy cannot be used; the last good one (revision {}) is in force",
            policy.revision);
    } else {
        note_saved(save_last_good(context_.options.root, policy.sources), policy.revision);
    }
    changes_.begin(std::move(staged), std::move(done));
}

// One is being served, one of a kind waits: who asks meanwhile shares the one that waits, which reads the newest files.
// Between trials, whose order matters.
void Reloads::ask(Pending asked)
{
    const auto may_share = [](Kind kind) { return kind == Kind::Reload || kind == Kind::Refresh; };
    for (auto waits = pending_.rbegin();
         may_share(asked.kind) && std::distance(waits, pending_.rend()) > 1 && may_share(waits->kind); ++waits) {
        if (waits->kind == asked.kind) {
            waits->waiting.push_back(std::move(asked.waiting.front()));
            return;
        }
    }
    pending_.push_back(std::move(asked));
    if (pending_.size() == 1) {
        next();
    }
}

void Reloads::reload(LoopCallback<void(ReloadOutcome)> done)
{
    Pending asked{Kind::Reload, {}};
    asked.waiting.push_back(std::move(done));
    ask(std::move(asked));
}

void Reloads::refresh(LoopCallback<void(ReloadOutcome)> done)
{
    Pending asked{Kind::Refresh, {}};
    asked.waiting.push_back(std::move(done));
    ask(std::move(asked));
}

bool Reloads::is_beginning_trial() const
{
    return std::ranges::any_of(pending_, [](const Pending& pending) { return pending.kind == Kind::Begin; });
}

void Reloads::begin_trial(TrialRequest request, LoopCallback<void(ReloadOutcome)> done)
{
    Pending asked{Kind::Begin, {}, std::move(request)};
    asked.waiting.push_back(std::move(done));
    ask(std::move(asked));
}

void Reloads::go_back(std::uint64_t trial, TrialStep why, LoopCallback<void(ReloadOutcome)> done)
{
    const auto same = std::ranges::find_if(
        pending_, [&](const Pending& pending) { return pending.kind == Kind::GoBack && pending.trial == trial; });
    if (same != pending_.end()) {
        same->waiting.push_back(std::move(done));
        return;
    }
    Pending asked{Kind::GoBack, {}, {}, trial, why};
    asked.waiting.push_back(std::move(done));
    ask(std::move(asked));
}

void Reloads::next()
{
    started_ = context_.clock.now();
    const Pending& served = pending_.front();
    Reading reading = changes_.reading(nullptr);
    if (served.kind == Kind::Begin) {
        reading.main_file = served.request.text;
        reading.before_trial = trial_.before() == nullptr ? policy_.revision() : std::string{};
    } else if (served.kind == Kind::Refresh && policy_.policy()) {
        reading.running = policy_.policy()->sources;
    }
    context_.loader.run([reading = std::move(reading)] { return read_and_stage(reading); },
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

void Reloads::set_last_reload(const ReloadOutcome& outcome)
{
    policy_.last_reload = outcome;
    policy_.last_reload.diagnostics = with_excerpts(outcome.diagnostics);
}

void Reloads::log_outcome(const ReloadOutcome& outcome) const
{
    const Kind kind = pending_.front().kind;
    if (!outcome.accepted) {
        log_event(LogLevel::Error, LogEvent::PolicyRejected, {}, {{"REVISION", outcome.revision}},
                  "{}, revision {} {}:\n{}",
                  kind == Kind::Begin     ? "the policy to be tried is refused"
                  : kind == Kind::GoBack  ? "the files cannot be used to go back from a trial"
                  : kind == Kind::Refresh ? "the files of /run/rdma-qos/policy.d are refused"
                                          : "reload refused",
                  outcome.revision, kind == Kind::GoBack ? "from before it is in force" : "stays in force",
                  outcome.to_text());
        return;
    }
    // Devices without an answer have a line each, below.
    const ReloadOutcome said{true, {}, outcome.diagnostics, outcome.findings, outcome.left_out, {}};
    const std::string text = said.to_text();
    // Failures have had their lines, too.
    const bool is_whole = outcome.failures.empty();
    log_event(said.has_warnings() || !is_whole ? LogLevel::Warning : LogLevel::Notice, LogEvent::PolicyApplied, {},
              {{"REVISION", outcome.revision}}, "policy revision {} is in force{}{}{}{}", outcome.revision,
              outcome.changed_files.empty() ? ""
                                            : fmt::format(" (changed: {})", fmt::join(outcome.changed_files, ", ")),
              is_whole ? "" : ", but not all of it is on the devices", text.empty() ? "" : ":\n", text);
    for (const auto& key : outcome.unanswered) {
        log(LogLevel::Warning, {{"DEVICE", key}}, "{}", unanswered(key).failures.front().error.message);
    }
}

void Reloads::answer(const ReloadOutcome& outcome)
{
    log_outcome(outcome);
    // A text that was refused is not in force, and no file of the host: nothing is wrong with this host. Nor is with
    // the files that a refresh has not read.
    const Kind kind = pending_.front().kind;
    if (kind == Kind::Reload || kind == Kind::GoBack || (kind == Kind::Begin && outcome.accepted)) {
        set_last_reload(outcome);
    }
    if (kind == Kind::Reload || kind == Kind::GoBack) {
        tally_.reload_answered(outcome.accepted, context_.clock.now() - started_);
    }
    context_.notify([](ServiceObserver& observer) { observer.reload_answered(); });
    end_request(outcome);
}

void Reloads::end_request(const ReloadOutcome& outcome)
{
    const auto waiting = std::move(pending_.front().waiting);
    pending_.pop_front();
    const bool more = !pending_.empty();
    for (const auto& done : waiting) {
        done(outcome);
    }
    if (more) {    // else the next one is served at once
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
    if (pending_.front().kind == Kind::GoBack && pending_.front().trial != trial_.number()) {
        outcome.accepted = true;
        end_request(outcome);    // somebody has ended it: nothing was done
        return;
    }
    if (!tried || context_.shutting_down) {
        outcome.diagnostics.error({},
                                  tried ? "rdma-qosd is stopping; the policy was not changed" : tried.error().message);
        refuse(outcome);
        return;
    }
    const Loaded& loaded = (*tried)->loaded;
    outcome.diagnostics = loaded.diagnostics();
    policy_.transient_files = loaded.transient_files;
    if (!(*tried)->staged) {
        refuse(outcome);
        return;
    }
    Staged staged = std::move(*(*tried)->staged);
    if ((*tried)->scene.mark != changes_.scene_mark()) {
        staged = stage(changes_.scene(PolicyChanges::Books::Borrowed), std::move(staged.rules), *loaded.settings.value);
    }
    outcome.findings = staged.findings;
    outcome.left_out = staged.left_out;
    if (!staged.is_accepted()) {
        refuse(outcome);
        return;
    }
    commit(std::move(staged), **tried, std::move(outcome));
}

void Reloads::refuse(const ReloadOutcome& outcome)
{
    if (pending_.front().kind == Kind::GoBack && !context_.shutting_down) {
        put_back(outcome);
    } else {
        answer(outcome);
    }
}

void Reloads::commit(Staged staged, const Tried& tried, ReloadOutcome outcome)
{
    const Loaded& loaded = tried.loaded;
    const bool ports_changed = tried.scene.ports != devices_.local_ports();
    outcome.accepted = true;
    outcome.losses = staged.losses;
    outcome.revision = loaded.policy.value->revision;
    if (policy_.policy()) {
        outcome.changed_files = differing_files(*policy_.policy(), *loaded.policy.value);
    }
    if (!tried.is_refresh) {
        ports_.resume_all();
        policy_.set_fabric_stamp(loaded.fabric_stamp);
        if (!std::exchange(policy_.fabric_diagnostics, {}).empty()) {
            context_.notify([](ServiceObserver& observer) { observer.fabric_changed(); });
        }
    }
    if (const auto trial = trial_.status(); trial && pending_.front().kind == Kind::Reload) {
        outcome.ended_trial = trial->revision;
    }
    change_trial(tried);
    // Answered when the devices are done and the policy is on the disk: clients rely on what they were answered,
    // also after a crash of the host.
    struct Rest {
        ReloadOutcome outcome;
        int parts = 1;
    };
    const auto rest = std::make_shared<Rest>(Rest{std::move(outcome)});
    const auto part_done = [this, rest] {
        if (--rest->parts == 0) {
            answer(rest->outcome);
        }
    };
    if (trial_.number() == 0) {
        ++rest->parts;
        save(*loaded.policy.value, part_done);
    }
    changes_.commit(std::move(staged), *loaded.settings.value, [this, rest, part_done](Gathering::Missing missing) {
        add_answers(std::move(missing), rest->outcome);
        part_done();
    });
    if (ports_changed) {
        changes_.resolve_again(policy_.rules().fabric, "ports of this host changed while the policy was read", [] {});
    }
}

void Reloads::note_saved(const Result<void>& saved, const std::string& revision)
{
    const std::string failure = context_.note_saved(
        kLastGoodFile, saved, fmt::format("policy {} is in force, but cannot be saved as the last good one", revision));
    if (!saved) {
        log(LogLevel::Warning, "{}", failure);
    }
}

void Reloads::save(const Policy& policy, LoopCallback<void()> done)
{
    context_.loader.run(
        [root = context_.options.root, sources = policy.sources] { return save_last_good(root, sources); },
        [this, revision = policy.revision, done = std::move(done)](const Result<void>& saved) {
            note_saved(saved, revision);
            done();
        });
}

void Reloads::add_answers(Gathering::Missing missing, ReloadOutcome& outcome) const
{
    outcome.failures = failures_but_of(missing);
    std::ranges::move(findings_of_ports_but_of(missing), std::back_inserter(outcome.findings));
    outcome.unanswered = std::move(missing);
}

std::vector<DeviceFailure> Reloads::failures_but_of(const Gathering::Missing& missing) const
{
    std::vector<DeviceFailure> failures;
    for (const auto& [key, device] : devices_) {
        const auto& snapshot = device->snapshot();
        if (!snapshot || std::ranges::find(missing, key) != missing.end()) {
            continue;
        }
        for (auto& failure : open_failures(*snapshot)) {
            failures.push_back({key, std::move(failure)});
        }
        if (auto failure = ports_.failure(key)) {
            failures.push_back({key, std::move(*failure)});
        }
    }
    return failures;
}

// No reason to refuse the policy: the scheduling tree is enforced all the same.
std::vector<JudgedFinding> Reloads::findings_of_ports_but_of(const Gathering::Missing& missing) const
{
    std::vector<JudgedFinding> findings;
    for (const auto& [key, device] : devices_) {
        if (std::ranges::find(missing, key) != missing.end()) {
            continue;
        }
        PortCare care = ports_.status(key).care;
        for (Finding& finding : care.findings) {
            findings.push_back({key, std::move(finding), FindingVerdict::Harmless});
        }
    }
    return findings;
}

// What taking this policy, which is about to be in force, means for the trial.
void Reloads::change_trial(const Tried& tried)
{
    const Pending& served = pending_.front();
    const std::string& revision = tried.loaded.policy.value->revision;
    switch (served.kind) {
    case Kind::Begin:
        trial_.begin(served.request, revision, tried.main_file_before, {policy_.policy(), policy_.settings()},
                     [this](std::uint64_t number) {
                         if (!context_.shutting_down) {
                             go_back(number, TrialStep::TimedOut, [](const ReloadOutcome& /*outcome*/) {});
                         }
                     });
        break;
    case Kind::Start:
        break;
    case Kind::Refresh:
        trial_.set_revision(revision);
        break;
    case Kind::Reload:
    case Kind::GoBack:
        if (trial_.number() != 0) {
            trial_.end(served.kind == Kind::Reload ? TrialStep::Reloaded : served.why, revision);
        }
        break;
    }
}

// From memory, whatever the devices say of it: they had it before.
void Reloads::put_back(ReloadOutcome outcome)
{
    const TrialInForce::Before before = *trial_.before();
    Staged staged = stage(changes_.scene(PolicyChanges::Books::Borrowed),
                          make_rules(before.policy, policy_.rules().fabric, devices_.local_ports()), before.settings);
    outcome.revision = before.policy->revision;
    outcome.losses = staged.losses;
    trial_.end(pending_.front().why, outcome.revision);
    changes_.commit(std::move(staged), before.settings, [this, outcome](Gathering::Missing missing) mutable {
        add_answers(std::move(missing), outcome);
        answer(outcome);
        if (!policy_.transient_files.empty()) {    // among them those that came during the trial
            refresh([](const ReloadOutcome& /*outcome*/) {});
        }
    });
}

}    // namespace rdmaqos
