// ManagedDevice: what it says of itself and of its queue pairs. Everything here only reads.
#include "daemon/device/managed_device.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/model/lower.h"

namespace rdmaqos {
namespace {

std::string joined(const std::string& first, const std::string& second)
{
    return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

constexpr const char* kOnlyWatches = "the daemon only watches (`mode: monitor`)";

std::string nothing_asked(const std::string& level)
{
    return fmt::format("level {} has no `schedule` and no `per-queue-pair`: queue pairs are left alone", level);
}

}    // namespace

std::optional<ManagedDevice::Standing> ManagedDevice::standing(std::uint32_t number) const
{
    const Member* member = book_.find(number);
    if (member == nullptr) {
        return std::nullopt;
    }
    const Outcome& outcome = outcomes_.at(number);
    Standing result{*member, outcome.last, why_unenforced(*member, outcome), {}};
    if (!result.why.cause.empty()) {
        return result;
    }
    const ElementPath& class_path = member->membership.class_path;
    result.note = book_.remark(number);
    if (book_.placement(number).requester.name() == "others") {
        result.note = joined(fmt::format("no leaf of its own is left: {} share {}", book_.principals_in_others(class_path),
                                         outcome.last.requester.text()),
                             result.note);
    }
    if (!class_path.empty()) {
        result.note = joined(result.note, attach_verdict(class_path, member->owner->pid).words);
    }
    return result;
}

std::optional<QueuePairResult> ManagedDevice::result(std::uint32_t number) const
{
    auto found = standing(number);
    if (!found) {
        return std::nullopt;
    }
    QueuePairResult result;
    result.device = key_;
    result.number = number;
    result.level = found->member.membership.level;
    result.rule = found->member.membership.rule;
    result.leaf = found->outcome.requester.text();
    result.responder_leaf = found->outcome.responder.text();
    result.owner_verified = outcomes_.at(number).owner_verified;
    result.rate = found->outcome.rate;
    result.enforced = found->why.cause.empty();
    result.cause = found->why.cause;
    result.reason = std::move(result.enforced ? found->note : found->why.words);
    return result;
}

Unenforced ManagedDevice::why_unenforced(const Member& member, const Outcome& outcome) const
{
    const std::uint32_t number = member.ref.number;
    const ElementPath& class_path = member.membership.class_path;
    if (disabled_) {
        return {"disabled", is_disabled() + (outcome.last.error
                                                 ? ", but not everything was taken back: " + outcome.last.error->message
                                                 : std::string())};
    }
    if (attach_.mode == AttachMode::None && !class_path.empty()) {
        return {"attach-mode", attach_verdict(class_path, member.owner->pid).words};
    }
    const Placement& desired = book_.placement(number);
    if (outcome.last.error) {
        return {"error", outcome.last.error->message};
    }
    if (!outcome.known) {
        return {"pending", "is being attached"};
    }
    if (settings_.mode == Mode::Monitor) {
        return {"monitor", kOnlyWatches};
    }
    if (class_path.empty() && !book_.is_limited(number)) {
        return {kNothingAsked, nothing_asked(member.membership.level)};
    }
    if (!class_path.empty() && desired.requester.empty()) {
        return {"no-class-leaf", no_class_leaf(class_path)};
    }
    if (outcome.last.requester != desired.requester || outcome.last.rate != desired.rate) {
        return {"pending", "is being moved"};
    }
    std::string shortfall = book_.shortfall(number);
    const std::string_view gap = shortfall.empty() ? std::string_view() : to_string(book_.held_limit(number).gap);
    if (class_path.empty()) {
        return {gap, std::move(shortfall)};
    }
    const AttachVerdict verdict = attach_verdict(class_path, member.owner->pid);
    if (shortfall.empty() && verdict.held) {
        return {};
    }
    return {shortfall.empty() ? "attach-mode" : gap, joined(shortfall, verdict.words)};
}

Unenforced ManagedDevice::expected(const Membership& membership, const Identity& owner) const
{
    if (disabled_) {
        return {"disabled", is_disabled()};
    }
    if (settings_.mode == Mode::Monitor) {
        return {"monitor", kOnlyWatches};
    }
    const bool is_limited = membership.per_queue_pair.max_rate.has_value();
    if (membership.class_path.empty() && !is_limited) {
        return {kNothingAsked, nothing_asked(membership.level)};
    }
    Unenforced result;
    if (!membership.class_path.empty()) {
        AttachVerdict verdict = attach_verdict(membership.class_path, owner.pid);
        if (book_.expected_leaf(membership, owner).empty()) {
            return {"no-class-leaf", no_class_leaf(membership.class_path)};
        }
        result = {verdict.held ? "" : "attach-mode", std::move(verdict.words)};
    }
    if (is_limited) {
        add_expected_limit(membership, result);
    }
    return result;
}

// Of queue pairs that may be of any type: the limit is unenforced if it is for every one of them.
void ManagedDevice::add_expected_limit(const Membership& membership, Unenforced& result) const
{
    const PerQueuePair& level = membership.per_queue_pair;
    const RateLimit limit{*level.max_rate, level.max_burst, level.typical_packet};
    std::map<std::string, std::set<QueuePairType>> unheld;
    std::string_view first_gap;
    std::size_t types = 0;
    for (const QueuePairType type :
         {QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::RawPacket}) {
        if (capabilities_.scheduling && !capabilities_.attachable.contains(type)) {
            continue;
        }
        ++types;
        const HeldLimit held = book_.expected_limit(membership, type);
        if (held.gap != LimitGap::None) {
            unheld[shortfall(limit, held)].insert(type);
            first_gap = first_gap.empty() ? to_string(held.gap) : first_gap;
        }
    }
    std::size_t count = 0;
    for (const auto& [words, of] : unheld) {
        count += of.size();
        result.words = joined(result.words,
                              of.size() == types ? words : fmt::format("{} queue pairs: {}", list_of_types(of), words));
    }
    if (count > 0 && count == types && result.cause.empty()) {
        result.cause = first_gap;
    }
}

std::string ManagedDevice::is_disabled() const
{
    return fmt::format("{} is disabled (`rdma-qosctl disable`)", key_);
}

std::string ManagedDevice::no_class_leaf(const ElementPath& class_path) const
{
    return fmt::format("{} has no leaf for {}", key_, class_path.text());
}

AttachVerdict ManagedDevice::attach_verdict(const ElementPath& class_path, std::optional<pid_t> pid) const
{
    return attach_.mode == AttachMode::Shared
               ? AttachVerdict{}
               : judge_attach(attach_, settings_.cap_mode, book_.promise(class_path, pid));
}

// In mode shared there is nothing to say.
std::vector<std::string> ManagedDevice::attach_notes() const
{
    std::vector<std::string> notes;
    if (attach_.mode == AttachMode::PerProcess) {
        for (const auto& element : book_.spec().tree.elements) {
            if (element.is_class && book_.processes(element.path) > 0) {
                notes.push_back(
                    fmt::format("{}: {}", element.path.text(), attach_verdict(element.path, std::nullopt).words));
            }
        }
    }
    return notes;
}

DeviceStatus ManagedDevice::status() const
{
    DeviceStatus status;
    status.info = info_;
    status.attach = attach_;
    status.attributes = attributes_;
    status.capabilities = capabilities_;
    status.snapshot = snapshot_;
    status.findings = book_.compiled().findings;
    status.attach_notes = attach_notes();
    status.queue_depth = worker_->queued();
    if (snapshot_) {
        for (const auto& [path, count] : snapshot_->queue_pairs_in) {
            status.queue_pairs_inside += count;
        }
    }
    const auto members = static_cast<std::uint32_t>(book_.size());
    status.queue_pairs_outside = members - std::min(members, status.queue_pairs_inside);
    status.reason = reason();
    status.state = state(status.reason);
    return status;
}

DeviceState ManagedDevice::state(std::string_view reason) const
{
    if (gone_ || lost_) {
        return DeviceState::Gone;
    }
    if (is_silent()) {
        return DeviceState::Degraded;
    }
    if (disabled_) {
        return DeviceState::Disabled;
    }
    if (settings_.mode == Mode::Monitor) {
        return DeviceState::Monitor;
    }
    return reason.empty() ? DeviceState::Ready : DeviceState::Degraded;
}

DeviceMetrics ManagedDevice::metrics(const Policy* policy) const
{
    const DeviceStatus now = status();
    DeviceMetrics metrics;
    metrics.device = key_;
    metrics.up = now.state != DeviceState::Gone;
    metrics.degraded = now.state == DeviceState::Degraded;
    metrics.disabled = now.state == DeviceState::Disabled;
    metrics.findings = now.findings.size();
    metrics.link_up = now.info.link_up;
    metrics.link_speed = now.info.link_speed;
    metrics.queue_pairs_inside = now.queue_pairs_inside;
    metrics.queue_pairs_outside = now.queue_pairs_outside;
    metrics.elements_used = elements_used(now);
    metrics.elements_free = elements_free(now);
    metrics.leaves_used = leaves_used(now);
    metrics.leaves_free = leaves_free(now);
    metrics.passes = passes_;
    metrics.queue_depth = now.queue_depth;
    metrics.queue_limit = settings_.limits.device_queue;
    if (snapshot_) {
        metrics.leaves_draining = snapshot_->draining.size();
        metrics.open_failures = snapshot_->failures.size() + snapshot_->unreachable.size();
        metrics.counters = snapshot_->counters;
        metrics.operations = snapshot_->operations;
    }
    if (policy != nullptr) {
        for (const auto& level : policy->levels) {
            metrics.levels.emplace(level.name, LevelMetrics{});
        }
        count_leaves(metrics, *policy);
    }
    count_members(metrics);
    return metrics;
}

void ManagedDevice::count_members(DeviceMetrics& metrics) const
{
    std::vector<std::pair<LevelMetrics*, SessionId>> uses;
    for (const auto& [number, outcome] : outcomes_) {
        const Member* member = book_.find(number);
        const Membership& membership = member->membership;
        if (membership.class_path.empty() && !book_.is_limited(number)) {
            ++metrics.queue_pairs_unscheduled;
        } else if (const auto why = why_unenforced(*member, outcome); why.cause.empty()) {
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
void ManagedDevice::count_leaves(DeviceMetrics& metrics, const Policy& policy) const
{
    if (!snapshot_) {
        return;
    }
    std::map<ElementPath, LevelMetrics*> level_of;
    for (const auto& level : policy.levels) {
        const auto leaves = book_.compiled().classes.find(class_path(policy, level));
        if (level.schedule && leaves != book_.compiled().classes.end()) {
            LevelMetrics& use = metrics.levels.at(level.name);
            level_of.emplace(leaves->first, &use);
            level_of.emplace(leaves->second.responder_leaf, &use);
        }
    }
    level_of.erase(ElementPath());
    for (const auto& [id, element] : snapshot_->actual.elements) {
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

DeviceReconcile ManagedDevice::to_result(const Report& report) const
{
    DeviceReconcile result{key_, report.operations, {}};
    if (!report.snapshot) {
        return result;
    }
    result.failures = report.snapshot->failures;
    if (held_back()) {
        for (const auto& path : report.snapshot->draining) {
            result.failures.push_back(
                {path, "destroy", {ErrorCode::Busy, 0, "it holds queue pairs that cannot be taken out"}, 1});
        }
    }
    return result;
}

DeviceReconcile ManagedDevice::to_result(const Error& error) const
{
    return {key_, 0, {{ElementPath("/"), "query", error, 1}}};
}

bool ManagedDevice::is_silent() const
{
    const auto silent = silent_for();
    return silent && *silent >= kPatienceWithDevices;
}

std::string ManagedDevice::reason() const
{
    if (gone_) {
        return "the device went away";
    }
    if (lost_) {
        return "the device does not answer since a reset; its tree is built again when it comes back";
    }
    if (is_silent()) {
        return fmt::format(
            "the device has not answered for {} s: whether it has what it was told last is not known; it "
            "catches up when it answers",
            std::chrono::duration_cast<std::chrono::seconds>(*silent_for()).count());
    }
    if (disabled_) {
        return fmt::format("`rdma-qosctl disable`: no queue pair is in the tree; `rdma-qosctl enable {}` places them "
                           "again",
                           key_);
    }
    if (settings_.mode == Mode::Monitor) {
        return "`mode: monitor` in rdma-qosd.yaml: nothing is written to the device";
    }
    if (snapshot_ && !snapshot_->failures.empty()) {
        const ElementFailure& failure = snapshot_->failures.front();
        return fmt::format("{} could not be written ({} {}: {}); it is tried again",
                           counted(snapshot_->failures.size(), "element"), failure.operation, failure.path.text(),
                           to_string(failure.error));
    }
    if (snapshot_ && !snapshot_->unreachable.empty()) {
        const Unreachable& first = snapshot_->unreachable.front();
        return fmt::format("{}: {}", first.path.text(), first.why);
    }
    const auto& findings = book_.compiled().findings;
    const auto error = std::ranges::find_if(findings, &Finding::is_error);
    return error == findings.end() ? std::string{} : to_string(*error);
}

}    // namespace rdmaqos
