#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/reconcile/reconciler_state.h"

namespace rdmaqos {
namespace {

bool is_permanent(const Error& error)
{
    return error.code == ErrorCode::Unsupported || error.code == ErrorCode::InvalidArgument;
}

bool still_holds(const std::map<QueuePairId, Placement>& desired, QueuePairId queue_pair, const Placement& placement)
{
    const auto found = desired.find(queue_pair);
    return found != desired.end() && found->second == placement;
}

}    // namespace

ActualPlacement Reconciler::State::placement_of(QueuePairId queue_pair) const
{
    const auto found = device.actual().queue_pairs.find(queue_pair);
    return found == device.actual().queue_pairs.end() ? ActualPlacement{} : found->second;
}

const Reconciler::State::Refusal* Reconciler::State::refusal(QueuePairId queue_pair) const
{
    const auto found = refusals.find(queue_pair);
    return found != refusals.end() && still_holds(desired.queue_pairs, queue_pair, found->second.placement)
               ? &found->second
               : nullptr;
}

Error Reconciler::State::why_no_leaf(const ElementPath& path) const
{
    const std::string what = fmt::format("{} is not on the device", path.text());
    for (const auto& [key, failure] : failures) {
        const auto& [failed_path, operation] = key;
        const bool above = failed_path.is_root() || failed_path == path ||
                           path.text().starts_with(failed_path.text() + '/');
        if (operation == "create" && above) {
            return failure.error.with_context(failed_path == path ? what
                                                                  : fmt::format("{}: {}", what, failed_path.text()));
        }
    }
    for (const auto& missing : unreachable) {
        if (missing.path == path) {
            return {ErrorCode::NoSpace, 0, fmt::format("{}: {}", what, missing.why)};
        }
    }
    return {ErrorCode::DeviceFailed, 0, what};
}

std::optional<ElementId> Reconciler::State::current(const ElementPath& path) const
{
    const auto candidates = device.with_path(path);
    const auto wanted = desired.tree.find(path);
    if (wanted != desired.tree.end()) {
        for (const auto id : candidates) {
            const ActualElement& element = device.actual().elements.at(id);
            if (element.kind == wanted->second.kind && device.path(element.parent) == wanted->second.parent) {
                return id;
            }
        }
    }
    return candidates.empty() ? std::nullopt : std::optional(candidates.front());
}

Result<std::optional<ElementId>> Reconciler::State::leaf(const ElementPath& path) const
{
    if (path.empty()) {
        return std::optional<ElementId>();
    }
    const auto id = current(path);
    if (!id || device.actual().elements.at(*id).kind != ElementKind::Leaf) {
        return fail(why_no_leaf(path));
    }
    return id;
}

bool Reconciler::State::is_in_place(QueuePairId queue_pair, const Placement& placement) const
{
    return is_in_leaves(queue_pair, placement) && placement_of(queue_pair).rate == placement.rate;
}

bool Reconciler::State::is_in_leaves(QueuePairId queue_pair, const Placement& placement) const
{
    const ActualPlacement actual = placement_of(queue_pair);
    const auto requester = leaf(placement.requester);
    const auto responder = leaf(placement.responder);
    return requester && *requester == actual.requester && responder && *responder == actual.responder;
}

// What is desired without what the device refuses always: there a queue pair stays as it is.
DesiredState Reconciler::State::attainable() const
{
    DesiredState state = desired;
    for (const auto& [queue_pair, refused] : refusals) {
        const auto found = state.queue_pairs.find(queue_pair);
        if (found == state.queue_pairs.end() || found->second != refused.placement) {
            continue;
        }
        const ActualPlacement actual = placement_of(queue_pair);
        if (refused.leaves) {
            for (auto [side, id] : {std::pair(&found->second.requester, actual.requester),
                                    std::pair(&found->second.responder, actual.responder)}) {
                const ElementPath path = device.path(id);
                const auto element = desired.tree.find(path);
                const bool stays = element != desired.tree.end() && element->second.kind == ElementKind::Leaf;
                *side = stays ? path : ElementPath();
            }
        }
        if (refused.rate) {
            found->second.rate = actual.rate;
        }
    }
    return state;
}

void Reconciler::State::note_element(const ElementPath& path, std::string_view operation, const Result<void>& result,
                                     Pass& pass)
{
    if (result) {
        return;
    }
    pass.clean = false;
    const std::pair key(path, std::string(operation));
    auto [failure, is_new] = failures.try_emplace(key, ElementFailure{path, key.second, result.error(), 0});
    if (const auto before = pass.failures_before.find(key); is_new && before != pass.failures_before.end()) {
        failure->second.attempts = before->second.attempts;
    }
    failure->second.error = result.error();
    ++failure->second.attempts;
}

void Reconciler::State::drop(QueuePairId queue_pair)
{
    desired.queue_pairs.erase(queue_pair);
    device.forget(queue_pair);
    refs.erase(queue_pair);
    leaving.erase(queue_pair);
    misplaced.erase(queue_pair);
    refusals.erase(queue_pair);
    claimed.erase(queue_pair);
}

// A queue pair that only answers, as the server of ib_read_bw, is attached in INIT and stays in RTR, where the device
// takes no other leaf for it.
bool Reconciler::State::stays_as_left(const QueuePairRef& ref, const ActualPlacement& left, const Error& error) const
{
    if (error.code != ErrorCode::BadState || !left.requester || !device.exists(*left.requester) ||
        (left.responder && !device.exists(*left.responder))) {
        return false;
    }
    const auto state = backend.query_queue_pair(ref);
    return state && *state == QueuePairState::Rtr;
}

void Reconciler::State::note_queue_pair_failure(QueuePairId queue_pair, bool is_rate, Error error, Pass& pass)
{
    pass.clean = false;
    const bool gone = error.code == ErrorCode::BadQueuePair;
    if (const auto attempts = leaving.find(queue_pair); attempts != leaving.end()) {
        const std::uint32_t most = draining_all ? options.drain_attempts : options.removal_attempts;
        if (gone) {
            drop(queue_pair);
        } else if (++attempts->second >= most || is_permanent(error)) {
            drop(queue_pair);
            pass.touched[queue_pair] = std::move(error);
        } else {
            pass.touched[queue_pair] = std::move(error);
        }
        return;
    }
    if (gone) {
        drop(queue_pair);
        pass.touched[queue_pair] = std::move(error);
        return;
    }
    if (is_permanent(error)) {
        Refusal refused{desired.queue_pairs.at(queue_pair), !is_rate, is_rate, error};
        if (const Refusal* before = refusal(queue_pair)) {
            refused.leaves = refused.leaves || before->leaves;
            refused.rate = refused.rate || before->rate;
            refused.error = before->error;
        }
        refusals.insert_or_assign(queue_pair, std::move(refused));
    }
    misplaced.insert_or_assign(queue_pair, std::move(error));
    pass.explained.insert(queue_pair);
}

bool Reconciler::State::may_write(Pass& pass)
{
    std::optional<Error> reason;
    if (writer.gone()) {
        reason = Error{ErrorCode::DeviceGone, 0, "the device is gone"};
    } else if (!writing()) {
        reason = Error{ErrorCode::Unsupported, 0, "not enforced: in monitor mode nothing is written to the device"};
    } else {
        return true;
    }
    for (auto& [queue_pair, error] : pass.touched) {
        const auto found = desired.queue_pairs.find(queue_pair);
        if (!error && found != desired.queue_pairs.end() && !is_in_place(queue_pair, found->second)) {
            error = reason;
        }
    }
    return false;
}

void Reconciler::State::reconcile(Pass& pass)
{
    if (!writing()) {
        for (const auto& [queue_pair, placement] : desired.queue_pairs) {
            if (!is_in_place(queue_pair, placement)) {
                pass.touched.try_emplace(queue_pair, std::nullopt);
            }
        }
    }
    if (!may_write(pass)) {
        return;
    }
    pass.failures_before = std::exchange(failures, {});
    draining.clear();
    forget_left_of_the_dead();
    read_doubtful(pass);
    Plan plan;
    if (!writer.gone()) {
        ++comparisons;
        plan = diff(refusals.empty() ? desired : attainable(), device.actual(), backend.capabilities());
    }
    unreachable = std::move(plan.unreachable);
    pass.clean = pass.clean && unreachable.empty();
    for (const auto& operation : plan.operations) {
        if (writer.gone()) {
            break;
        }
        std::visit([&](const auto& one) { run(one, pass); }, operation);
    }
    end_of_run(pass);
}

void Reconciler::State::reconcile_leaves(const std::vector<LeafChange>& leaves, Pass& pass)
{
    for (const auto& leaf : leaves) {
        if (leaf.create && !writer.gone()) {
            run(*leaf.create, pass);
        }
    }
    if (!writer.gone()) {
        reconcile_named(pass);
    }
    for (const auto& leaf : leaves) {
        if (!leaf.create && !writer.gone()) {
            run(DestroyElement{leaf.id, leaf.path}, pass);
        }
    }
    end_of_run(pass);
}

void Reconciler::State::end_of_run(Pass& pass)
{
    writer.destroy_abandoned();
    if (writer.take_missing() && !writer.gone()) {
        // What is there all the same is found by the next drift check if it cannot be destroyed yet.
        static_cast<void>(backend.destroy_strays(known_handles()));
    }
    for (const auto& element : writer.abandoned()) {
        draining.insert(element.path);
    }
    forget_departed();
    if (writer.gone()) {
        (void)may_write(pass);
        return;
    }
    if (!pass.clean || !misplaced.empty()) {
        settle_all(pass);
    }
}

void Reconciler::State::reconcile_named(Pass& pass)
{
    std::vector<QueuePairId> named;
    for (const auto& [queue_pair, error] : pass.touched) {
        named.push_back(queue_pair);
    }
    // Entries of a pacing table that become free are there for those who have waited for them.
    std::stable_partition(named.begin(), named.end(), [this](QueuePairId queue_pair) {
        const auto found = desired.queue_pairs.find(queue_pair);
        return found == desired.queue_pairs.end() || !found->second.rate;
    });
    for (const auto queue_pair : named) {
        if (writer.gone()) {
            break;
        }
        reconcile(queue_pair, pass);
    }
    if (writer.gone()) {
        (void)may_write(pass);
    }
}

void Reconciler::State::reconcile(QueuePairId queue_pair, Pass& pass)
{
    if (leaving.contains(queue_pair)) {
        run(MoveQueuePair{queue_pair, std::nullopt, std::nullopt}, pass);
        if (leaving.contains(queue_pair) && placement_of(queue_pair).rate) {
            run(SetQueuePairRate{queue_pair, std::nullopt}, pass);
        }
        if (!device.actual().queue_pairs.contains(queue_pair)) {
            drop(queue_pair);
        }
        return;
    }
    const auto found = desired.queue_pairs.find(queue_pair);
    if (found == desired.queue_pairs.end()) {
        return;
    }
    const Placement placement = found->second;
    const Refusal* refused = refusal(queue_pair);
    const bool keeps_leaves = refused != nullptr && refused->leaves;
    const bool keeps_rate = refused != nullptr && refused->rate;
    if (!keeps_leaves) {
        const ActualPlacement actual = placement_of(queue_pair);
        run(MoveQueuePair{queue_pair, leaf(placement.requester).value_or(actual.requester),
                          leaf(placement.responder).value_or(actual.responder)},
            pass);
    }
    if (!keeps_rate && placement_of(queue_pair).rate != placement.rate) {
        run(SetQueuePairRate{queue_pair, placement.rate}, pass);
    }
    settle(queue_pair, pass);
}

void Reconciler::State::run(const CreateElement& create, Pass& pass)
{
    const auto& element = create.element;
    if (element.parent && !device.exists(*element.parent)) {
        pass.clean = false;
        const auto cause = pass.not_created.find(*element.parent);
        pass.not_created.emplace(create.id, cause != pass.not_created.end()
                                                ? cause->second
                                                : Error{ErrorCode::DeviceFailed, 0, "its parent has vanished"});
        return;
    }
    const auto created = writer.create(create);
    note_element(element.path, "create", created, pass);
    if (!created && !device.exists(create.id)) {
        pass.not_created.emplace(create.id, created.error());
    }
}

void Reconciler::State::run(const ModifyElement& modify, Pass& pass)
{
    if (device.exists(modify.id)) {
        note_element(modify.path, "modify", writer.modify(modify), pass);
    }
}

void Reconciler::State::run(const DestroyElement& destroy, Pass& pass)
{
    if (!device.exists(destroy.id)) {
        return;
    }
    const ElementUsage& usage = device.usage(destroy.id);
    if (usage.holds_queue_pairs()) {
        pass.clean = false;
        draining.insert(destroy.path);
        return;
    }
    if (usage.children != 0) {
        // They were kept for a reason, and that is what is reported.
        pass.clean = false;
        return;
    }
    const auto destroyed = writer.destroy(destroy.id);
    if (!destroyed && destroyed.error().code == ErrorCode::Busy) {
        pass.clean = false;
        draining.insert(destroy.path);
        return;
    }
    note_element(destroy.path, "destroy", destroyed, pass);
}

void Reconciler::State::run(const MoveQueuePair& move, Pass& pass)
{
    const auto ref = refs.find(move.queue_pair);
    if (ref == refs.end()) {
        // It has turned out to be gone earlier in this plan.
        return;
    }
    pass.touched.try_emplace(move.queue_pair, std::nullopt);
    const ActualPlacement actual = placement_of(move.queue_pair);
    // A side whose leaf could not be made stays where it is; the other one goes on.
    const auto reachable = [&](std::optional<ElementId> target, std::optional<ElementId> otherwise) {
        const bool exists = !target || device.exists(*target);
        pass.clean = pass.clean && exists;
        return exists ? target : otherwise;
    };
    const auto requester = reachable(move.requester, actual.requester);
    const auto responder = reachable(move.responder, actual.responder);
    if (requester == actual.requester && responder == actual.responder) {
        return;
    }
    const auto left = claimed.extract(move.queue_pair);
    const auto placed = writer.place(ref->second, requester, responder);
    if (placed) {
        return;
    }
    if (!left.empty() && stays_as_left(ref->second, left.mapped(), placed.error())) {
        device.place(move.queue_pair, left.mapped().requester, left.mapped().responder);
    }
    const ActualPlacement now = placement_of(move.queue_pair);
    if (requester != now.requester || responder != now.responder) {
        note_queue_pair_failure(move.queue_pair, false, placed.error(), pass);
    }
}

void Reconciler::State::run(const SetQueuePairRate& set, Pass& pass)
{
    const auto ref = refs.find(set.queue_pair);
    if (ref == refs.end()) {
        return;
    }
    pass.touched.try_emplace(set.queue_pair, std::nullopt);
    auto done = writer.set_rate(ref->second, set.rate);
    // A full pacing table may need the very entry that this queue pair gives up: the new one is taken first.
    if (!done && done.error().code == ErrorCode::NoSpace && set.rate && placement_of(set.queue_pair).rate &&
        writer.set_rate(ref->second, std::nullopt)) {
        done = writer.set_rate(ref->second, set.rate);
    }
    if (!done) {
        note_queue_pair_failure(set.queue_pair, true, done.error().with_context("rate limit"), pass);
    }
}

void Reconciler::State::read_doubtful(Pass& pass)
{
    const std::set<ElementId> doubtful = writer.doubtful();
    for (const auto id : doubtful) {
        if (writer.gone()) {
            return;
        }
        if (!device.exists(id)) {
            continue;    // went with an element above it
        }
        const ElementPath path = device.path(id);
        const auto read = writer.read_back(id);
        if (writer.doubtful().contains(id)) {
            note_element(path, "query", read, pass);
        }
    }
}

void Reconciler::State::settle(QueuePairId queue_pair, Pass& pass)
{
    const auto found = desired.queue_pairs.find(queue_pair);
    if (found == desired.queue_pairs.end()) {
        return;
    }
    const Placement& placement = found->second;
    if (is_in_place(queue_pair, placement)) {
        misplaced.erase(queue_pair);
        refusals.erase(queue_pair);
        return;
    }
    if (const Refusal* refused = refusal(queue_pair)) {
        const bool rate_is_set = placement_of(queue_pair).rate == placement.rate;
        if ((refused->leaves || is_in_leaves(queue_pair, placement)) && (refused->rate || rate_is_set)) {
            misplaced.erase(queue_pair);
            return;
        }
    }
    pass.clean = false;
    if (pass.explained.contains(queue_pair)) {
        return;
    }
    for (const ElementPath* side : {&placement.requester, &placement.responder}) {
        if (const auto target = leaf(*side); !target) {
            misplaced.insert_or_assign(queue_pair, target.error());
            return;
        }
    }
    misplaced.try_emplace(queue_pair, Error{ErrorCode::DeviceFailed, 0, "it could not be moved yet"});
}

void Reconciler::State::settle_all(Pass& pass)
{
    std::vector<QueuePairId> all;
    all.reserve(desired.queue_pairs.size());
    for (const auto& [queue_pair, placement] : desired.queue_pairs) {
        all.push_back(queue_pair);
    }
    for (const auto queue_pair : all) {
        settle(queue_pair, pass);
    }
}

void Reconciler::State::forget_departed()
{
    for (auto it = leaving.begin(); it != leaving.end();) {
        const auto queue_pair = it->first;
        ++it;
        if (!device.actual().queue_pairs.contains(queue_pair)) {
            drop(queue_pair);
        }
    }
}

}    // namespace rdmaqos
