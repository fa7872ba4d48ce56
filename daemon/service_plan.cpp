// Service: what a reload would do, and to whom.
#include <tuple>

#include "daemon/service_state.h"
#include "policy/changes.h"

namespace rdmaqos {
namespace {

// The paths that the classes of two compiled policies have.
std::set<ElementPath> classes_of(const Compiled& before, const Compiled& after)
{
    std::set<ElementPath> classes;
    for (const auto* compiled : {&before, &after}) {
        for (const auto& [path, leaves] : compiled->classes) {
            classes.insert(path);
        }
    }
    return classes;
}

// Where a queue pair stands, in the terms of a SessionChange.
struct Standing {
    std::string level;
    std::string leaf;

    friend auto operator<=>(const Standing&, const Standing&) = default;
};

Standing standing_of(const PlacementBook& book, std::uint32_t number)
{
    return {book.find(number)->membership.level, book.placement(number).requester.text()};
}

void add_queue_pairs(const std::string& device, const PlacementBook& before, const PlacementBook& after,
                     std::vector<SessionChange>& changes)
{
    std::map<std::tuple<SessionId, Standing, Standing>, SessionChange> moves;
    for (const std::uint32_t number : before.members_in_order()) {
        const Member& member = *before.find(number);
        auto from = standing_of(before, number);
        auto to = standing_of(after, number);
        if (from == to) {
            continue;
        }
        SessionChange& change = moves[{member.session, from, to}];
        change = {member.session,     member.owner,        device,           std::move(from.level), std::move(to.level),
                  std::move(from.leaf), std::move(to.leaf), change.queue_pairs + 1};
    }
    for (auto& [key, change] : moves) {
        changes.push_back(std::move(change));
    }
}

}    // namespace

std::vector<SessionChange> Service::State::session_changes(const Staged& staged) const
{
    std::vector<SessionChange> changes;
    for (const auto& [id, session] : sessions) {
        const std::string& before = session.choice.membership.level;
        const std::string& after = staged.sessions.at(id).membership.level;
        if (session.queue_pair_count() == 0 && before != after) {
            changes.push_back({id, session.owner, {}, before, after, {}, {}, 0});
        }
    }
    for (const auto& [key, book] : staged.devices) {
        add_queue_pairs(key, devices.at(key)->book(), book, changes);
    }
    return changes;
}

void Service::plan(std::optional<std::shared_ptr<const SourceFile>> policy, Callback<PlanReport> done)
{
    state_->load(std::move(policy), [state = state_.get(), done = std::move(done)](const Loaded& loaded) {
        if (!loaded.ok()) {
            done(fail(ErrorCode::InvalidPolicy, render(loaded.diagnostics(), Colour::Off)));
            return;
        }
        auto staged = std::make_shared<Staged>(
            state->stage(state->make_rules(loaded.policy.value, loaded.fabric.value), *loaded.settings.value));
        auto report = std::make_shared<PlanReport>();
        report->revision = loaded.policy.value->revision;
        report->levels = state->rules.policy ? level_changes(*state->rules.policy, *loaded.policy.value)
                                             : level_changes(Policy{}, *loaded.policy.value);
        report->sessions = state->session_changes(*staged);
        report->devices.resize(staged->devices.size());
        const Completion answer = state->completion([report, done] { done(std::move(*report)); });
        for (std::size_t i = 0; i < staged->devices.size(); ++i) {
            ManagedDevice& device = *state->devices.at(staged->devices[i].key);
            DevicePlan& plan = report->devices[i];
            const Compiled& before = device.book().compiled();
            const Compiled& after = staged->devices[i].book.compiled();
            plan.device = staged->devices[i].key;
            plan.findings = after.findings;
            plan.rates = compare_busy_rates(before.tree, after.tree, device.info().link_speed,
                                            classes_of(before, after));
            plan.link_speed = device.info().link_speed;
            device.with_actual([staged, report, answer, i, capabilities = device.capabilities()](ActualState actual) {
                report->devices[i].plan = diff(staged->devices[i].book.desired(), actual, capabilities);
                report->devices[i].before = std::move(actual);
            });
        }
    });
}

}    // namespace rdmaqos
