// Service: what a reload would do, and to whom. Nothing is changed.
#include <utility>

#include <fmt/format.h>

#include "daemon/service/session_table.h"
#include "lib/tree/plan.h"

namespace rdmaqos {
namespace {

// Of a policy that a user who may not manage brings: it is read on a thread that a reload has to wait for.
constexpr std::size_t kLongestText = 1U << 20U;

}    // namespace

Scene Service::State::scene(Books books) const
{
    Scene now;
    now.ports = local_ports();
    now.mark = scene_mark();
    for (const auto& [id, session] : sessions) {
        now.sessions.push_back({id, session.request, session.owner, !session.device.empty(),
                                session.queue_pair_count() > 0, session.choice.membership.level});
    }
    for (const auto& [key, device] : devices) {
        auto book = books == Books::Copied
                        ? std::make_shared<const PlacementBook>(device->book())
                        : std::shared_ptr<const PlacementBook>(std::shared_ptr<void>(), &device->book());
        now.devices.push_back({key, std::move(book), device->new_book(), device->info().link_speed});
    }
    return now;
}

std::vector<std::uint64_t> Service::State::scene_mark() const
{
    std::vector<std::uint64_t> mark{next_session, sessions.size(), device_changes};
    for (const auto& [key, device] : devices) {
        mark.push_back(device->changes());
    }
    return mark;
}

Reading Service::State::reading(std::shared_ptr<const SourceFile> text) const
{
    return {options.root, options.names, std::move(text), settings, rules.fabric, scene(Books::Copied)};
}

Result<void> Service::State::may_read(std::uint32_t uid, const SourceFile* text) const
{
    if (auto here = not_ending(); !here) {
        return here;
    }
    if (uid != 0 && text != nullptr && text->text.size() > kLongestText) {
        return fail(ErrorCode::LimitReached,
                    fmt::format("the policy has {} bytes; more than {} can be tried by root alone (`rdma-qosctl check` "
                                "reads it without the daemon)",
                                text->text.size(), kLongestText));
    }
    return loader.has_room(uid);
}

void Service::check(std::shared_ptr<const SourceFile> policy, std::uint32_t uid, Callback<ReloadOutcome> done)
{
    if (const auto may = state_->may_read(uid, policy.get()); !may) {
        done(fail(may.error()));
        return;
    }
    state_->loader.run_for(
        uid,
        [state = state_.get(), policy = std::move(policy)] {
            return [reading = state->reading(policy)] { return read_and_stage(reading); };
        },
        [state = state_.get(), done = std::move(done)](Result<std::shared_ptr<Tried>> tried) {
            if (!tried) {
                done(fail(tried.error()));
                return;
            }
            const Loaded& loaded = (*tried)->loaded;
            ReloadOutcome outcome;
            outcome.diagnostics = loaded.diagnostics();
            if (auto& staged = (*tried)->staged) {
                outcome.findings = std::move(staged->findings);
                outcome.revision = loaded.policy.value->revision;
                outcome.accepted = !staged->has_errors() || state->settings.on_unsupported == OnUnsupported::Degrade;
            }
            state->loader.discard(std::move(*tried));
            done(std::move(outcome));
        });
}

void Service::plan(std::optional<std::shared_ptr<const SourceFile>> policy, std::uint32_t uid,
                   Callback<PlanReport> done)
{
    auto text = policy.value_or(nullptr);
    if (const auto may = state_->may_read(uid, text.get()); !may) {
        done(fail(may.error()));
        return;
    }
    // Its own text is quoted to whoever brought it.
    const Quote quote = text ? Quote::Lines : quote_for(uid);
    state_->loader.run_for(
        uid,
        [state = state_.get(), text = std::move(text)] {
            const auto running = state->rules.policy ? state->rules.policy : std::make_shared<const Policy>();
            return [reading = state->reading(text), running] {
                TriedPlan plan{read_and_stage(reading), {}};
                if (plan.tried->staged) {
                    plan.draft = draft_plan(*plan.tried, *running);
                }
                return plan;
            };
        },
        [state = state_.get(), quote, done = std::move(done)](Result<TriedPlan> plan) mutable {
            if (!plan) {
                done(fail(plan.error()));
            } else if (!plan->tried->staged) {
                done(fail(ErrorCode::InvalidPolicy, render(plan->tried->loaded.diagnostics(), Colour::Off, quote)));
            } else {
                state->ask_devices(std::move(plan->draft), std::move(done));
            }
            if (plan) {
                state->loader.discard(std::move(plan->tried));
            }
        });
}

// What each device has, and what would have to be done to it.
void Service::State::ask_devices(PlanDraft draft, Callback<PlanReport> done)
{
    struct Asked {
        PlanDraft draft;
        std::vector<bool> answered;
    };
    const auto asked = std::make_shared<Asked>(Asked{std::move(draft), {}});
    auto& plans = asked->draft.report.devices;
    // One that has left meanwhile is in no plan.
    for (std::size_t i = plans.size(); i-- > 0;) {
        if (!devices.contains(plans[i].device)) {
            plans.erase(plans.begin() + static_cast<std::ptrdiff_t>(i));
            asked->draft.desired.erase(asked->draft.desired.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    asked->answered.resize(plans.size());
    const auto all = Gathering::begin([this, asked, done = std::move(done)](const Gathering::Missing&) {
        for (std::size_t i = 0; i < asked->answered.size(); ++i) {
            if (!asked->answered[i]) {
                plan_from_memory(asked->draft.report.devices[i], *asked->draft.desired[i]);
            }
        }
        done(std::move(asked->draft.report));
    });
    for (std::size_t i = 0; i < plans.size(); ++i) {
        all->expect(plans[i].device);
        devices.at(plans[i].device)
            ->plan(asked->draft.desired[i], [asked, all, i, key = plans[i].device](Result<PlannedChange> change) {
                if (change && i < asked->draft.report.devices.size()) {
                    asked->answered[i] = true;
                    asked->draft.report.devices[i].plan = std::move(change->plan);
                    asked->draft.report.devices[i].before = std::move(change->before);
                }
                all->came(key);
            });
    }
    all->within(executor, kPatienceWithDevices);
    all->all_expected();
}

// Of a device that does not answer: from what it had when it did.
void Service::State::plan_from_memory(DevicePlan& plan, const DesiredState& desired) const
{
    const auto device = devices.find(plan.device);
    if (device != devices.end()) {
        if (const auto snapshot = device->second->status().snapshot) {
            plan.before = snapshot->actual;
        }
        // What is remembered has no queue pairs.
        plan.plan = diff(DesiredState{desired.tree, {}}, plan.before, device->second->capabilities());
    }
    plan.findings.push_back({FindingKind::NotSupported, false, ElementPath("/"), "what the device has now",
                             "its elements when it answered last",
                             unanswered(plan.device).failures.front().error.message});
}

}    // namespace rdmaqos
