#include "daemon/device/device_report.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "daemon/device/enforcement.h"
#include "lib/base/text.h"
#include "policy/model/lower.h"

namespace rdmaqos {
namespace {

std::string what_was_read(const AttachReport& attach)
{
    return fmt::format("in the self-test the device did not say what was written ({})", attach.unreadable);
}

// What the self-test says of the device's promises; in mode shared, nothing of its classes.
std::vector<std::string> attach_notes(const DeviceFacts& facts)
{
    std::vector<std::string> notes;
    if (!facts.attach.unreadable.empty()) {
        notes.push_back("drift is neither found nor repaired: " + what_was_read(facts.attach));
    }
    if (!facts.attach.devx_refused.empty()) {
        notes.push_back(
            fmt::format("queue pairs made through DEVX, as UCX makes them, can probably not be attached: in the "
                        "self-test the device refused one ({})",
                        facts.attach.devx_refused));
    }
    if (!facts.attach.not_kept.empty()) {
        notes.push_back(
            fmt::format("the result of the self-test cannot be saved; it will run again at the next start: {}",
                        facts.attach.not_kept));
    }
    if (facts.attach.mode == AttachMode::PerProcess) {
        for (const auto& element : facts.book.tree_spec().elements) {
            if (element.is_class && facts.book.processes(element.path) > 0) {
                notes.push_back(fmt::format("{}: {}", element.path.text(),
                                            attach_verdict(facts, element.path, std::nullopt).words));
            }
        }
    }
    return notes;
}

void count_members(const DeviceFacts& facts, DeviceMetrics& metrics)
{
    std::vector<std::pair<LevelMetrics*, SessionId>> uses;
    for (const auto& [number, outcome] : facts.queue_pairs) {
        const Member* member = facts.book.find(number);
        const Membership& membership = member->membership;
        metrics.queue_pairs_without_level += membership.lost != nullptr ? 1 : 0;
        const bool has_no_class = facts.book.class_here(membership).empty();
        if (has_no_class && !facts.book.is_limited(number) && !membership.level.empty()) {
            ++metrics.queue_pairs_unscheduled;
        } else if (const auto why = why_unenforced(facts, *member, outcome); why.cause.empty()) {
            ++metrics.queue_pairs_enforced;
        } else {
            ++metrics.queue_pairs_unenforced;
            ++metrics.unenforced_by_cause[why.cause];
        }
        if (const auto level = metrics.levels.find(membership.level); level != metrics.levels.end()) {
            ++level->second.queue_pairs;
            uses.emplace_back(&level->second, member->session);
        }
    }
    std::sort(uses.begin(), uses.end());
    uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
    for (const auto& [level, session] : uses) {
        ++level->sessions;
    }
}

// A leaf is of the level whose class it is or is in.
void count_leaves(const DeviceFacts& facts, const Policy& policy, DeviceMetrics& metrics)
{
    if (!facts.snapshot) {
        return;
    }
    std::map<ElementPath, LevelMetrics*> level_of;
    for (const auto& level : policy.levels) {
        const auto leaves = facts.book.compiled().classes.find(class_path(policy, level));
        if (level.schedule && leaves != facts.book.compiled().classes.end()) {
            LevelMetrics& use = metrics.levels.at(level.name);
            level_of.emplace(leaves->first, &use);
            level_of.emplace(leaves->second.responder_leaf, &use);
        }
    }
    level_of.erase(ElementPath());
    for (const auto& [id, element] : facts.snapshot->actual.elements) {
        if (element.kind != ElementKind::Leaf) {
            continue;
        }
        for (ElementPath path = element.path; !path.empty(); path = path.parent()) {
            if (const auto found = level_of.find(path); found != level_of.end()) {
                ++found->second->leaves;
                break;
            }
        }
    }
}

std::string reason_of(const DeviceFacts& facts, const DeviceAnswers& answers)
{
    if (facts.gone) {
        return "the device went away";
    }
    if (facts.lost) {
        return "the device has not answered since a reset; its tree is rebuilt when it comes back";
    }
    if (answers.is_silent()) {
        return fmt::format(
            "the device has not answered for {} s: whether it did what it was told last is unknown; it catches up "
            "when it answers",
            std::chrono::duration_cast<std::chrono::seconds>(*answers.silent_for).count());
    }
    if (facts.disabled) {
        return fmt::format("`rdma-qosctl disable`: no queue pair is in the tree; `rdma-qosctl enable {}` attaches "
                           "them again",
                           facts.key);
    }
    if (facts.settings.mode == Mode::Monitor) {
        return "`mode: monitor` in rdma-qosd.yaml: nothing is written to the device";
    }
    if (facts.snapshot && !facts.snapshot->failures.empty()) {
        const ElementFailure& failure = facts.snapshot->failures.front();
        return fmt::format("{} could not be written ({} {}: {}); this will be retried",
                           counted(facts.snapshot->failures.size(), "element"), failure.operation, failure.path.text(),
                           to_string(failure.error));
    }
    if (facts.snapshot && !facts.snapshot->unreachable.empty()) {
        const Unreachable& first = facts.snapshot->unreachable.front();
        return fmt::format("{}: {}", first.path.text(), first.why);
    }
    const auto& findings = facts.book.compiled().findings;
    const auto error = std::ranges::find_if(findings, &Finding::is_error);
    return error == findings.end() ? std::string{} : to_string(*error);
}

DeviceState state_of(const DeviceFacts& facts, const DeviceAnswers& answers, std::string_view reason)
{
    if (facts.gone || facts.lost) {
        return DeviceState::Gone;
    }
    if (answers.is_silent()) {
        return DeviceState::Degraded;
    }
    if (facts.disabled) {
        return DeviceState::Disabled;
    }
    if (facts.settings.mode == Mode::Monitor) {
        return DeviceState::Monitor;
    }
    return reason.empty() ? DeviceState::Ready : DeviceState::Degraded;
}

}    // namespace

DeviceStatus device_status(const DeviceFacts& facts, const DeviceAnswers& answers)
{
    DeviceStatus status;
    status.info = facts.info;
    status.attach = facts.attach;
    status.attributes = facts.attributes;
    status.capabilities = facts.capabilities;
    status.snapshot = facts.snapshot;
    status.requested = facts.book.compiled().requested;
    status.findings = facts.book.compiled().findings;
    status.attach_notes = attach_notes(facts);
    status.queue_depth = answers.queue_depth;
    if (facts.snapshot) {
        for (const auto& [path, count] : facts.snapshot->queue_pairs_in) {
            status.queue_pairs_inside += count;
        }
    }
    const auto members = static_cast<std::uint32_t>(facts.book.size());
    status.queue_pairs_outside = members - std::min(members, status.queue_pairs_inside);
    status.reason = reason_of(facts, answers);
    status.state = state_of(facts, answers, status.reason);
    return status;
}

DeviceMetrics device_metrics(const DeviceFacts& facts, const DeviceAnswers& answers, const Policy* policy)
{
    const DeviceStatus now = device_status(facts, answers);
    DeviceMetrics metrics;
    metrics.device = facts.key;
    metrics.up = now.state != DeviceState::Gone;
    metrics.degraded = now.state == DeviceState::Degraded;
    metrics.disabled = now.state == DeviceState::Disabled;
    metrics.findings = now.findings.size();
    metrics.link_up = now.info.link_up;
    metrics.link_speed = now.info.link_speed;
    metrics.queue_pairs_inside = now.queue_pairs_inside;
    metrics.elements_used = elements_used(now);
    metrics.elements_free = elements_free(now);
    metrics.leaves_used = leaves_used(now);
    metrics.leaves_free = leaves_free(now);
    metrics.passes = facts.passes;
    metrics.queue_depth = now.queue_depth;
    metrics.queue_limit = facts.settings.limits.device_queue;
    if (facts.snapshot) {
        metrics.leaves_draining = facts.snapshot->draining.size();
        metrics.open_failures = facts.snapshot->failures.size() + facts.snapshot->unreachable.size();
        metrics.counters = facts.snapshot->counters;
        metrics.operations = facts.snapshot->operations;
    }
    if (policy != nullptr) {
        for (const auto& level : policy->levels) {
            metrics.levels.emplace(level.name, LevelMetrics{});
        }
        count_leaves(facts, *policy, metrics);
    }
    count_members(facts, metrics);
    return metrics;
}

Drift unreadable(const AttachReport& attach)
{
    return {ElementPath::root(),
            DriftKind::Unreadable,
            "what was written",
            "not known: " + what_was_read(attach),
            false,
            {}};
}

DeviceDrift device_drift(const DeviceFacts& facts, std::vector<Drift> drifts)
{
    return {facts.key, std::move(drifts),
            facts.snapshot ? open_failures(*facts.snapshot) : std::vector<ElementFailure>()};
}

DeviceReconcile reconcile_result(const DeviceFacts& facts, const Report& report)
{
    DeviceReconcile result{facts.key, report.operations, {}};
    if (!report.snapshot) {
        return result;
    }
    result.failures = open_failures(*report.snapshot);
    if (facts.held_back()) {
        for (const auto& path : report.snapshot->draining) {
            result.failures.push_back(
                {path, "destroy", {ErrorCode::Busy, 0, "it holds queue pairs that cannot be detached"}, 1});
        }
    }
    return result;
}

DeviceReconcile reconcile_result(const DeviceFacts& facts, const Error& error)
{
    return {facts.key, 0, {{ElementPath("/"), "query", error, 1}}};
}

}    // namespace rdmaqos
