#include "daemon/service/plans.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "daemon/loop/gathering.h"
#include "lib/tree/plan.h"

namespace rdmaqos {
namespace {

// What a Plan has been made of, until the devices are asked.
struct TriedPlan {
    std::shared_ptr<Tried> tried;
    PlanDraft draft;
};

constexpr std::size_t kLongestText = 1U << 20U;

}    // namespace

Result<void> may_bring(Account account, const SourceFile& text)
{
    if (!account.is_root() && text.text.size() > kLongestText) {
        return fail(ErrorCode::LimitReached,
                    fmt::format("the policy has {} bytes; only root can try more than {} (`rdma-qosctl check` reads "
                                "it without the daemon)",
                                text.text.size(), kLongestText));
    }
    return {};
}

Result<void> Plans::may_read(Account account, const SourceFile* text) const
{
    if (auto here = context_.not_ending(); !here) {
        return here;
    }
    if (text != nullptr) {
        if (auto may = may_bring(account, *text); !may) {
            return may;
        }
    }
    return context_.loader.has_room(account);
}

void Plans::check(std::shared_ptr<const SourceFile> policy, Account account, Callback<ReloadOutcome> done)
{
    if (const auto may = may_read(account, policy.get()); !may) {
        done(fail(may.error()));
        return;
    }
    context_.loader.run_for(
        account,
        [this, policy = std::move(policy)] {
            return [reading = changes_.reading(policy)] { return read_and_stage(reading); };
        },
        [this, done = std::move(done)](Result<std::shared_ptr<Tried>> tried) {
            if (!tried) {
                done(fail(tried.error()));
                return;
            }
            const Loaded& loaded = (*tried)->loaded;
            ReloadOutcome outcome;
            outcome.diagnostics = loaded.diagnostics();
            if (auto& staged = (*tried)->staged) {
                outcome.revision = loaded.policy.value->revision;
                outcome.accepted = staged->is_accepted();
                outcome.findings = std::move(staged->findings);
                outcome.left_out = std::move(staged->left_out);
            }
            context_.loader.discard(std::move(*tried));
            done(std::move(outcome));
        });
}

void Plans::plan(std::optional<std::shared_ptr<const SourceFile>> policy, Account account, Callback<PlanReport> done)
{
    auto text = std::move(policy).value_or(nullptr);
    if (const auto may = may_read(account, text.get()); !may) {
        done(fail(may.error()));
        return;
    }
    context_.loader.run_for(
        account,
        [this, text = std::move(text)] {
            const auto running = policy_.policy() ? policy_.policy() : std::make_shared<const Policy>();
            return [reading = changes_.reading(text), running] {
                TriedPlan plan{read_and_stage(reading), {}};
                if (plan.tried->staged) {
                    plan.draft = draft_plan(*plan.tried, *running);
                }
                plan.draft.report.diagnostics = plan.tried->loaded.diagnostics();
                return plan;
            };
        },
        [this, done = std::move(done)](Result<TriedPlan> plan) mutable {
            if (!plan) {
                done(fail(plan.error()));
                return;
            }
            if (const auto& staged = plan->tried->staged) {
                plan->draft.report.accepted = staged->is_accepted();
                plan->draft.report.refusal = why_refused({}, staged->findings);
                plan_ports(*plan->tried, plan->draft.report);
            } else {
                plan->draft.report.refusal = why_refused(plan->draft.report.diagnostics, {});
            }
            ask_devices(std::move(plan->draft), std::move(done));
            context_.loader.discard(std::move(plan->tried));
        });
}

void Plans::plan_ports(const Tried& tried, PlanReport& report) const
{
    for (DevicePlan& plan : report.devices) {
        plan.port = ports_.plan_of(plan.device, *tried.staged->rules.policy, *tried.loaded.settings.value);
    }
}

// What each device has, and what would have to be done to it.
void Plans::ask_devices(PlanDraft draft, Callback<PlanReport> done)
{
    struct Asked {
        PlanDraft draft;
        std::vector<bool> answered;
    };
    const auto asked = std::make_shared<Asked>(Asked{std::move(draft), {}});
    auto& plans = asked->draft.report.devices;
    // One that has left meanwhile is in no plan.
    for (std::size_t i = plans.size(); i-- > 0;) {
        if (!devices_.contains(plans[i].device)) {
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
        devices_.at(plans[i].device)
            .plan(asked->draft.desired[i], [asked, all, i, key = plans[i].device](Result<PlannedChange> change) {
                if (change && i < asked->draft.report.devices.size()) {
                    asked->answered[i] = true;
                    asked->draft.report.devices[i].plan = std::move(change->plan);
                    asked->draft.report.devices[i].before = std::move(change->before);
                }
                all->came(key);
            });
    }
    all->within(context_.executor, kPatienceWithDevices);
    all->all_expected();
}

// Of a device that does not answer: from what it had when it did.
void Plans::plan_from_memory(DevicePlan& plan, const DesiredState& desired) const
{
    if (const ManagedDevice* device = devices_.find(plan.device)) {
        if (const auto snapshot = device->status().snapshot) {
            plan.before = snapshot->actual.plain();
        }
        // What is remembered has no queue pairs.
        plan.plan = diff(DesiredState{desired.tree, {}}, plan.before, device->capabilities());
    }
    plan.findings.push_back(
        {plan.device,
         {FindingKind::NotSupported, false, ElementPath("/"), "a plan from what the device has now",
          "this one is made from its last answer", unanswered(plan.device).failures.front().error.message},
         FindingVerdict::Harmless});
}

}    // namespace rdmaqos
