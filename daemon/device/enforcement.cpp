#include "daemon/device/enforcement.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "daemon/device/queue_pair_marks.h"
#include "daemon/model/device_status.h"
#include "daemon/model/host_survey.h"
#include "lib/tree/class_requests.h"

namespace rdmaqos {
namespace {

std::string joined(const std::string& first, const std::string& second)
{
    return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

constexpr const char* kOnlyWatches = "the daemon only observes (`mode: monitor`)";

// The policy in force gives it none, but it may have had one.
Unenforced no_level(const Membership& membership)
{
    return {kNoLevel, membership.lost != nullptr ? to_sentence(*membership.lost) : membership.rule};
}

std::string nothing_asked(const Membership& membership)
{
    const std::string& level = membership.level;
    if (!membership.class_path.empty()) {
        return not_on_this_device(level) + ", and queue pairs are left alone";
    }
    return fmt::format("level {} has no `schedule` and no `per-queue-pair`: queue pairs are left alone", level);
}

// Empty cause: its level is enforced, or would ask for nothing here.
Unenforced why_monitored(const DeviceFacts& facts, const Membership& membership, const std::optional<RateLimit>& limit)
{
    const ElementPath& class_path = facts.book.monitored_class_here(membership);
    if (!membership.monitored || (class_path.empty() && !limit)) {
        return {};
    }
    std::string words = fmt::format("level {} is only monitored (`mode: monitor`): with `enforce`, ", membership.level);
    if (!class_path.empty()) {
        words += fmt::format("its class would be {}{}", class_path.text(), limit ? ", and " : "");
    }
    if (limit) {
        words += fmt::format("the limit of each queue pair {}{}", class_path.empty() ? "would be " : "",
                             to_string(limit->rate));
    }
    return {kLevelMonitor, std::move(words)};
}

std::string is_disabled(const DeviceFacts& facts)
{
    return fmt::format("{} is disabled (`rdma-qosctl disable`)", facts.key);
}

// Of what is held at this element, which is there: that it, or one above it, is not as the policy says. Empty cause:
// they are.
Unenforced refused_at(const DeviceFacts& facts, const ElementPath& path)
{
    if (!facts.snapshot) {
        return {};
    }
    const std::vector<ElementFailure> failures = open_failures(*facts.snapshot);
    const ElementFailure* failure = failure_at(failures, path);
    return failure == nullptr ? Unenforced{} : Unenforced{"error", to_sentence(*failure)};
}

std::string no_class_leaf(const DeviceFacts& facts, const ElementPath& class_path)
{
    return fmt::format("{} has no leaf for {}", facts.key, class_path.text());
}

// Of queue pairs that may be of any type: the limit is unenforced if it is for every one of them.
void add_expected_limit(const DeviceFacts& facts, const Membership& membership, Unenforced& result)
{
    const PerQueuePair& level = membership.per_queue_pair;
    const RateLimit limit{*level.max_rate, level.max_burst, level.typical_packet};
    std::map<std::string, std::set<QueuePairType>> unheld;
    std::string_view first_gap;
    std::size_t types = 0;
    for (const QueuePairType type :
         {QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::RawPacket}) {
        if (facts.capabilities.scheduling && !facts.capabilities.attachable.contains(type)) {
            continue;
        }
        ++types;
        const HeldLimit held = facts.book.expected_limit(membership, type);
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

// The queue pair was never ours to place.
bool is_refusal(const Error& error)
{
    switch (error.code) {
    case ErrorCode::BadQueuePair:
    case ErrorCode::BadState:
    case ErrorCode::NotOwner:
    case ErrorCode::NotUverbs:
    case ErrorCode::WrongDevice:
        return true;
    default:
        return false;
    }
}

}    // namespace

AttachVerdict attach_verdict(const DeviceFacts& facts, const ElementPath& class_path, std::optional<pid_t> pid,
                             std::optional<std::uint32_t> number)
{
    if (shares_between_processes(facts.attach.mode)) {
        return {};
    }
    ClassPromise promise = facts.book.promise(class_path, pid);
    const auto kept = std::ranges::find(facts.kept_classes, root_child_of(class_path), &KeptClass::path);
    if (kept != facts.kept_classes.end()) {
        promise.kept = *kept;
    }
    const auto mark = number ? mark_of(facts, *number) : std::nullopt;
    if (mark) {
        promise.mark = mark->dscp;
    }
    return attach_verdict(facts.attach, promise);
}

Bandwidth max_rate_now(const DeviceFacts& facts, const ElementPath& leaf, pid_t pid)
{
    return facts.book.narrowest_cap(leaf,
                                    facts.attach.caps_now() == CapMode::Divide ? std::optional(pid) : std::nullopt);
}

Unenforced why_unenforced(const DeviceFacts& facts, const Member& member, const KnownQueuePair& outcome)
{
    const std::uint32_t number = member.ref.number;
    const ElementPath& class_path = facts.book.class_here(member.membership);
    if (facts.disabled) {
        return {"disabled", is_disabled(facts) + (outcome.last.error ? ", but not everything could be undone: " +
                                                                           outcome.last.error->message
                                                                     : std::string())};
    }
    if (facts.attach.mode == AttachMode::None && !class_path.empty()) {
        return {"attach-mode", attach_verdict(facts, class_path, member.owner->pid).words};
    }
    if (facts.settings.mode == Mode::Monitor) {
        return {"monitor", kOnlyWatches};
    }
    const Placement& desired = facts.book.placement(number);
    if (outcome.last.error) {
        return {"error", outcome.last.error->message};
    }
    if (member.membership.level.empty()) {
        return no_level(member.membership);
    }
    if (!outcome.known) {
        return {"pending", "is being attached"};
    }
    const bool is_moved = outcome.last.requester != desired.requester || outcome.last.rate != desired.rate;
    Unenforced monitored = why_monitored(facts, member.membership, PlacementBook::limit_if_enforced(member));
    if (!monitored.cause.empty() && !is_moved) {
        return monitored;
    }
    if (monitored.cause.empty() && class_path.empty() && !facts.book.is_limited(number)) {
        return {kNothingAsked, nothing_asked(member.membership)};
    }
    if (!class_path.empty() && desired.requester.empty()) {
        return {"no-class-leaf", no_class_leaf(facts, class_path)};
    }
    if (is_moved) {
        return {"pending", "is being moved"};
    }
    std::string shortfall = facts.book.shortfall(number);
    const std::string_view gap = shortfall.empty() ? std::string_view() : to_string(facts.book.held_limit(number).gap);
    if (class_path.empty()) {
        return {gap, std::move(shortfall)};
    }
    if (Unenforced refused = refused_at(facts, desired.requester); !refused.cause.empty()) {
        return refused;
    }
    const AttachVerdict verdict = attach_verdict(facts, class_path, member.owner->pid, number);
    if (shortfall.empty() && verdict.held) {
        return {};
    }
    return {shortfall.empty() ? "attach-mode" : gap, joined(shortfall, verdict.words)};
}

std::string_view outside_leaf(const DeviceFacts& facts, std::uint32_t number)
{
    const KnownQueuePair& outcome = facts.queue_pairs.at(number);
    if (!outcome.last.requester.empty()) {
        return {};
    }
    const Unenforced why = why_unenforced(facts, *facts.book.find(number), outcome);
    return !why.cause.empty() ? why.cause : outcome.last.rate ? kPacedOnly : kNothingAsked;
}

std::optional<QueuePairStanding> queue_pair_standing(const DeviceFacts& facts, std::uint32_t number)
{
    const Member* member = facts.book.find(number);
    if (member == nullptr) {
        return std::nullopt;
    }
    const KnownQueuePair& outcome = facts.queue_pairs.at(number);
    QueuePairStanding result{*member, outcome.last, why_unenforced(facts, *member, outcome), {}};
    if (!result.why.cause.empty()) {
        return result;
    }
    const ElementPath& class_path = facts.book.class_here(member->membership);
    result.note = facts.book.remark(number);
    if (facts.book.placement(number).requester.name() == "others") {
        result.note = joined(fmt::format("no leaf of its own is available: {} share {}",
                                         facts.book.principals_in_others(class_path), outcome.last.requester.text()),
                             result.note);
    }
    if (!class_path.empty()) {
        result.note = joined(result.note, attach_verdict(facts, class_path, member->owner->pid, number).words);
    }
    return result;
}

std::optional<QueuePairResult> queue_pair_result(const DeviceFacts& facts, std::uint32_t number)
{
    auto found = queue_pair_standing(facts, number);
    if (!found) {
        return std::nullopt;
    }
    QueuePairResult result;
    result.device = facts.key;
    result.number = number;
    result.level = found->member.membership.level;
    result.rule = found->member.membership.rule;
    result.leaf = found->outcome.requester.text();
    result.responder_leaf = found->outcome.responder.text();
    result.owner_verified = facts.queue_pairs.at(number).owner_verified;
    result.rate = found->outcome.rate;
    result.max_rate_now = max_rate_now(facts, found->outcome.requester, found->member.owner->pid);
    if (result.rate) {
        result.max_rate_now = std::min(*result.max_rate_now, result.rate->rate);
    }
    result.lost = found->member.membership.lost;
    result.enforced = found->why.cause.empty();
    result.cause = found->why.cause;
    result.reason = std::move(result.enforced ? found->note : found->why.words);
    return result;
}

Unenforced expected_enforcement(const DeviceFacts& facts, const Membership& membership, const Identity& owner)
{
    if (facts.disabled) {
        return {"disabled", is_disabled(facts)};
    }
    if (facts.settings.mode == Mode::Monitor) {
        return {"monitor", kOnlyWatches};
    }
    const bool is_limited = membership.per_queue_pair.max_rate.has_value();
    Unenforced monitored = why_monitored(
        facts, membership,
        is_limited ? std::optional(RateLimit{*membership.per_queue_pair.max_rate, {}, {}}) : std::nullopt);
    if (!monitored.cause.empty()) {
        return monitored;
    }
    const ElementPath& class_path = facts.book.class_here(membership);
    if (class_path.empty() && !is_limited) {
        return {kNothingAsked, nothing_asked(membership)};
    }
    Unenforced result;
    if (!class_path.empty()) {
        AttachVerdict verdict = attach_verdict(facts, class_path, owner.pid);
        if (facts.book.expected_leaf(membership, owner).empty()) {
            return {"no-class-leaf", no_class_leaf(facts, class_path)};
        }
        if (Unenforced refused = refused_at(facts, class_path); !refused.cause.empty()) {
            return refused;
        }
        result = {verdict.held ? "" : "attach-mode", std::move(verdict.words)};
    }
    if (is_limited) {
        add_expected_limit(facts, membership, result);
    }
    return result;
}

std::optional<Error> why_not_taken(const DeviceFacts& facts, std::uint32_t number)
{
    const QueuePairOutcome& last = facts.queue_pairs.at(number).last;
    if (!last.error || !is_refusal(*last.error)) {
        return std::nullopt;
    }
    const Placement& desired = facts.book.placement(number);
    const bool is_in_place = last.requester == desired.requester && last.responder == desired.responder;
    const bool lacks_its_rate = is_in_place && last.rate != desired.rate;
    return lacks_its_rate && last.error->code == ErrorCode::BadState ? std::nullopt : last.error;
}

Result<void> can_set_rate(const DeviceFacts& facts, std::uint32_t number, const std::optional<RateLimit>& rate)
{
    if (facts.book.find(number) == nullptr) {
        return fail(ErrorCode::BadQueuePair, fmt::format("queue pair {} is not attached on {}", number, facts.key));
    }
    return facts.book.can_set_rate(number, rate);
}

std::optional<Error> why_rate_is_not_held(const DeviceFacts& facts, std::uint32_t number)
{
    const auto known = facts.queue_pairs.find(number);
    if (known == facts.queue_pairs.end()) {
        return std::nullopt;
    }
    const QueuePairOutcome& last = known->second.last;
    const bool is_in_leaf = facts.book.held_limit(number).by == LimitHolder::Leaf;
    if (last.error && (is_in_leaf || last.rate != facts.book.placement(number).rate)) {
        return last.error;
    }
    if (facts.book.waits_for_pacing(number)) {
        return Error{ErrorCode::NoSpace, 0, facts.book.shortfall(number) + "; it is set when one is free"};
    }
    return std::nullopt;
}

QueuePairResult refused_queue_pair(const DeviceFacts& facts, const Member& member, const Error& error)
{
    QueuePairResult result;
    result.device = facts.key;
    result.number = member.ref.number;
    result.level = member.membership.level;
    result.rule = member.membership.rule;
    result.reason = error.message;
    result.error = error;
    return result;
}

}    // namespace rdmaqos
