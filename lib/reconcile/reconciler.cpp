#include "lib/reconcile/reconciler.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/try.h"
#include "lib/reconcile/reconciler_state.h"

namespace rdmaqos {
namespace {

// Queue pair numbers are given again: the same number of another file or with another handle is another queue pair.
bool is_same_object(const QueuePairRef& a, const QueuePairRef& b)
{
    return a.number == b.number && a.type == b.type && a.handle == b.handle && a.sq_number == b.sq_number;
}

bool is_same(const QueuePairRef& a, const QueuePairRef& b)
{
    return is_same_object(a, b) && a.file == b.file;
}

bool is_leaf(const Tree& tree, const ElementPath& path)
{
    const auto element = tree.find(path);
    return element != tree.end() && element->second.kind == ElementKind::Leaf;
}

}    // namespace

std::string_view to_string(OperationKind kind)
{
    switch (kind) {
    case OperationKind::Create:
        return "create";
    case OperationKind::Modify:
        return "modify";
    case OperationKind::Destroy:
        return "destroy";
    case OperationKind::Place:
        return "place";
    case OperationKind::SetRate:
        return "set-rate";
    }
    return "create";
}

Reconciler::State::State(Backend& used_backend, const Clock& used_clock, ReconcilerOptions used_options)
    : backend(used_backend), clock(used_clock), options(used_options),
      writer(used_backend, used_clock, device, counters, operations, used_options.busy_retries),
      snapshot(std::make_shared<Snapshot>())
{
}

Reconciler::State::Pass Reconciler::State::begin() const
{
    Pass pass;
    pass.operations_before = counters.operations;
    pass.started = clock.now();
    return pass;
}

bool Reconciler::State::open() const
{
    return !failures.empty() || !draining.empty() || !unreachable.empty() || !misplaced.empty() || !leaving.empty() ||
           !writer.doubtful().empty() || !writer.abandoned().empty();
}

void Reconciler::State::schedule(bool fresh)
{
    if (!open() || !writing() || writer.gone()) {
        due.reset();
        delay = std::chrono::milliseconds(0);
        return;
    }
    const bool first = fresh || delay.count() == 0;
    delay = std::min(first ? options.first_retry : delay * 2, options.longest_retry);
    due = clock.now() + delay;
}

// For queue pairs that failed on their own: what is open already keeps its time if that comes earlier.
void Reconciler::State::schedule_soon()
{
    const auto before = due;
    schedule(true);
    if (before && due) {
        due = std::min(*before, *due);
    }
}

QueuePairOutcome Reconciler::State::outcome(QueuePairId queue_pair, const std::optional<Error>& error) const
{
    const ActualPlacement placement = placement_of(queue_pair);
    QueuePairOutcome result;
    result.queue_pair = queue_pair;
    result.requester = device.path(placement.requester);
    result.responder = device.path(placement.responder);
    result.rate = placement.rate;
    result.error = error ? error : reason(queue_pair);
    return result;
}

std::optional<Error> Reconciler::State::reason(QueuePairId queue_pair) const
{
    if (const auto found = misplaced.find(queue_pair); found != misplaced.end()) {
        return found->second;
    }
    const Refusal* refused = refusal(queue_pair);
    return refused == nullptr ? std::nullopt : std::optional(refused->error);
}

void Reconciler::State::touch_changed_reasons(Pass& pass)
{
    const auto look_at = [&](QueuePairId queue_pair) {
        const auto before = reported.find(queue_pair);
        const auto now = reason(queue_pair);
        if (desired.queue_pairs.contains(queue_pair) &&
            now != (before == reported.end() ? std::nullopt : std::optional(before->second))) {
            pass.touched.try_emplace(queue_pair, std::nullopt);
        }
    };
    for (const auto& [queue_pair, error] : reported) {
        look_at(queue_pair);
    }
    for (const auto& [queue_pair, error] : misplaced) {
        look_at(queue_pair);
    }
    for (const auto& [queue_pair, refused] : refusals) {
        look_at(queue_pair);
    }
    std::erase_if(reported, [&](const auto& entry) { return !desired.queue_pairs.contains(entry.first); });
}

Report Reconciler::State::finish(Pass& pass)
{
    touch_changed_reasons(pass);
    Report report;
    report.operations = counters.operations - pass.operations_before;
    for (const auto& [queue_pair, error] : pass.touched) {
        report.queue_pairs.push_back(outcome(queue_pair, error));
        const auto now = reason(queue_pair);
        if (error) {
            continue;
        }
        if (now) {
            reported.insert_or_assign(queue_pair, *now);
        } else {
            reported.erase(queue_pair);
        }
    }
    report.device_gone = writer.gone();
    if (due) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - clock.now());
        report.retry_after = std::max(left, std::chrono::milliseconds(0));
    }
    refresh_snapshot();
    report.snapshot = snapshot;
    report.took = clock.now() - pass.started;
    return report;
}

void Reconciler::State::refresh_snapshot()
{
    std::vector<ElementFailure> current_failures;
    for (const auto& [key, failure] : failures) {
        current_failures.push_back(failure);
    }
    std::vector<ElementPath> current_draining(draining.begin(), draining.end());
    const bool same_tree = snapshot_revision == device.revision() && snapshot->draining == current_draining;
    if (same_tree && snapshot->counters == counters && snapshot->failures == current_failures &&
        snapshot->unreachable == unreachable) {
        return;
    }
    auto fresh = std::make_shared<Snapshot>();
    fresh->tree_revision = snapshot->tree_revision + (same_tree ? 0 : 1);
    fresh->actual.elements = device.shared_elements();
    fresh->actual.next_id = device.actual().next_id;
    fresh->queue_pairs_in = device.queue_pairs_in();
    fresh->draining = std::move(current_draining);
    fresh->failures = std::move(current_failures);
    fresh->unreachable = unreachable;
    fresh->counters = counters;
    fresh->operations = operations;
    snapshot = std::move(fresh);
    snapshot_revision = device.revision();
}

void Reconciler::State::let_leave(QueuePairId queue_pair)
{
    desired.queue_pairs.erase(queue_pair);
    misplaced.erase(queue_pair);
    refusals.erase(queue_pair);
    if (!device.actual().queue_pairs.contains(queue_pair)) {
        refs.erase(queue_pair);
        device.forget(queue_pair);
        return;
    }
    if (!writing()) {
        // Its owner is going and takes it along; holding on to its file would prevent that.
        drop(queue_pair);
        return;
    }
    leaving.try_emplace(queue_pair, 0);
}

void Reconciler::State::check_placement(QueuePairId queue_pair, Placement& placement, Pass& pass) const
{
    for (ElementPath* side : {&placement.requester, &placement.responder}) {
        if (!side->empty() && !is_leaf(desired.tree, *side)) {
            pass.touched[queue_pair] = Error{ErrorCode::InvalidArgument, 0,
                                             fmt::format("{} is not a leaf of the tree", side->text())};
            *side = ElementPath();
        }
    }
}

void Reconciler::State::want_placement(QueuePairId queue_pair, Placement placement, Pass& pass)
{
    pass.touched.try_emplace(queue_pair, std::nullopt);
    if (!refs.contains(queue_pair)) {
        pass.touched[queue_pair] = Error{ErrorCode::BadQueuePair, 0, "the queue pair is not known here"};
        return;
    }
    leaving.erase(queue_pair);
    check_placement(queue_pair, placement, pass);
    desired.queue_pairs.insert_or_assign(queue_pair, std::move(placement));
}

// Where something else is desired than is believed, it is written anyway, and what is believed is needed to know that.
void Reconciler::State::doubt_placement(QueuePairId queue_pair, const Placement& placement)
{
    if (is_in_leaves(queue_pair, placement)) {
        device.place(queue_pair, std::nullopt, std::nullopt);
    }
    if (placement_of(queue_pair).rate == placement.rate) {
        device.set_rate(queue_pair, std::nullopt);
    }
}

void Reconciler::State::want(const QueuePairUpdate& update, Pass& pass)
{
    const QueuePairId queue_pair{update.ref.number};
    pass.touched.try_emplace(queue_pair, std::nullopt);
    const auto known = refs.find(queue_pair);
    if (known != refs.end() && !is_same(known->second, update.ref)) {
        if (!update.placement) {
            // Late news of a queue pair whose number has another owner by now.
            return;
        }
        // Named again with another copy of its file, it may be what it was, and in its leaf.
        if (!update.again || !is_same_object(known->second, update.ref)) {
            drop(queue_pair);
        }
    }
    if (!update.placement) {
        let_leave(queue_pair);
        return;
    }
    const bool was_left = device.claim_left(queue_pair);
    device.set_owner(queue_pair, {update.ref.owner_pid, update.ref.owner_start_time});
    claimed.erase(queue_pair);
    if (update.again && writing()) {
        if (was_left) {
            claimed.emplace(queue_pair, placement_of(queue_pair));
        }
        doubt_placement(queue_pair, *update.placement);
    }
    refusals.erase(queue_pair);
    refs.insert_or_assign(queue_pair, update.ref);
    want_placement(queue_pair, *update.placement, pass);
}

void Reconciler::State::replace_desired(DesiredState replacement, Pass& pass)
{
    desired.tree = std::move(replacement.tree);
    std::vector<QueuePairId> left_out;
    for (const auto& [queue_pair, placement] : desired.queue_pairs) {
        if (!replacement.queue_pairs.contains(queue_pair)) {
            left_out.push_back(queue_pair);
        }
    }
    for (const auto queue_pair : left_out) {
        let_leave(queue_pair);
    }
    for (auto& [queue_pair, placement] : replacement.queue_pairs) {
        const auto known = desired.queue_pairs.find(queue_pair);
        if (known == desired.queue_pairs.end()) {
            want_placement(queue_pair, std::move(placement), pass);
            continue;
        }
        check_placement(queue_pair, placement, pass);
        known->second = std::move(placement);
    }
}

Reconciler::Reconciler(Backend& backend, const Clock& clock, ReconcilerOptions options)
    : state_(std::make_unique<State>(backend, clock, options))
{
}

Reconciler::~Reconciler() = default;

Result<void> Reconciler::inherit(const Inheritance& left, StateRecorder& recorder, ProcessRuns runs)
{
    std::vector<KnownElement> known;
    std::map<ElementId, ElementHandle> handles;
    for (const auto& [id, element, handle] : left.elements) {
        const auto parent = element.parent ? handles.find(*element.parent) : handles.end();
        if (element.parent && parent == handles.end()) {
            continue;    // what is below something that is not known goes, too
        }
        const auto parent_handle = element.parent ? std::optional(parent->second) : std::nullopt;
        known.push_back({handle, {element.kind, parent_handle, element.attributes}});
        handles.emplace(id, handle);
    }
    auto taken = state_->backend.take_over(known, left.notes);
    state_->backend.set_note_keeper(
        [&recorder](const std::string& key, const std::string& text) { recorder.note_is(key, text); });
    state_->device.set_recorder(recorder);
    state_->runs = std::move(runs);
    for (const auto& [id, element, handle] : left.elements) {
        if (handles.contains(id)) {
            state_->device.add(id, element, handle);
            state_->writer.doubt(id);
        }
    }
    const auto is_there = [&](std::optional<ElementId> leaf) { return !leaf || state_->device.exists(*leaf); };
    for (const auto& queue_pair : left.queue_pairs) {
        if (is_there(queue_pair.placement.requester) && is_there(queue_pair.placement.responder)) {
            state_->device.add_left(queue_pair);
        } else {
            recorder.queue_pair_is_gone(queue_pair.queue_pair);
        }
    }
    state_->refresh_snapshot();
    return taken;
}

void Reconciler::State::forget_left_of_the_dead()
{
    std::vector<QueuePairId> gone;
    std::map<std::pair<pid_t, std::uint64_t>, bool> known;    // each process is asked for once
    for (const auto& [queue_pair, left] : device.left()) {
        const auto [process, is_new] = known.try_emplace({left.owner.pid, left.owner.start_time}, false);
        // A drain takes everything out that it can; what the device holds on to, it says itself.
        if (is_new && !draining_all) {
            process->second = runs(left.owner);
        }
        if (!process->second) {
            gone.push_back(queue_pair);
        }
    }
    for (const auto queue_pair : gone) {
        device.forget_left(queue_pair);
    }
}

Report Reconciler::replace(DesiredState desired)
{
    auto pass = state_->begin();
    state_->draining_all = false;
    state_->replace_desired(std::move(desired), pass);
    state_->reconcile(pass);
    state_->schedule(true);
    return state_->finish(pass);
}

Report Reconciler::update(TreeUpdate tree, std::vector<QueuePairUpdate> queue_pairs,
                          // NOLINTNEXTLINE(performance-unnecessary-value-param): its placements are moved out
                          std::map<QueuePairId, Placement> moves)
{
    auto pass = state_->begin();
    const std::vector<LeafChange> leaves = state_->local_changes(tree);
    const bool has_tree = tree.whole || !tree.changed.empty();
    const bool whole = has_tree && leaves.empty();
    // Owners that go while everything is taken out do not end that.
    const bool adds = std::any_of(queue_pairs.begin(), queue_pairs.end(),
                                  [](const QueuePairUpdate& one) { return one.placement.has_value(); });
    state_->draining_all = state_->draining_all && !has_tree && !adds && moves.empty();
    state_->want_tree(std::move(tree));
    for (const auto& update : queue_pairs) {
        state_->want(update, pass);
    }
    for (auto& [queue_pair, placement] : moves) {
        state_->want_placement(queue_pair, std::move(placement), pass);
    }
    if (whole) {
        for (auto& [queue_pair, placement] : state_->desired.queue_pairs) {
            state_->check_placement(queue_pair, placement, pass);
        }
        state_->reconcile(pass);
        state_->schedule(true);
        return state_->finish(pass);
    }
    if (!leaves.empty()) {
        state_->reconcile_leaves(leaves, pass);
        state_->schedule(true);
        return state_->finish(pass);
    }
    if (state_->may_write(pass)) {
        state_->reconcile_named(pass);
    }
    if (!pass.clean || !state_->open()) {
        state_->schedule_soon();
    }
    return state_->finish(pass);
}

// Nothing: all has to be compared. A leaf that comes or goes where nothing else is to be done is all that a whole
// comparison would find.
std::vector<LeafChange> Reconciler::State::local_changes(const TreeUpdate& tree) const
{
    if (tree.whole || !writing() || draining_all || writer.gone() || open()) {
        return {};
    }
    std::vector<LeafChange> leaves;
    std::uint64_t next_id = device.actual().next_id;
    std::size_t growth = 0;
    for (const auto& [path, element] : tree.changed) {
        const auto before = desired.tree.find(path);
        const bool was_there = before != desired.tree.end();
        const ElementKind kind = element ? element->kind : was_there ? before->second.kind : ElementKind::Node;
        const auto there = device.with_path(path);
        if (kind != ElementKind::Leaf || was_there == element.has_value() || there.size() != (was_there ? 1 : 0)) {
            return {};
        }
        if (was_there) {
            leaves.push_back({path, there.front(), std::nullopt});
            continue;
        }
        const auto parent = current(element->parent);
        if (!parent) {
            return {};
        }
        const ElementId id{next_id++};
        leaves.push_back({path, id, CreateElement{id, {path, kind, parent, element->attributes}}});
        ++growth;
    }
    const Capabilities& capabilities = backend.capabilities();
    const bool has_room = device.leaves() + growth <= capabilities.max_leaves &&
                          device.actual().elements.size() + growth <= capabilities.max_elements;
    return has_room || growth == 0 ? leaves : std::vector<LeafChange>();
}

void Reconciler::State::want_tree(TreeUpdate tree)
{
    if (tree.whole) {
        desired.tree = std::move(*tree.whole);
    }
    for (auto& [path, element] : tree.changed) {
        if (element) {
            desired.tree.insert_or_assign(path, std::move(*element));
        } else {
            desired.tree.erase(path);
        }
    }
}

Report Reconciler::retry()
{
    auto pass = state_->begin();
    if (!state_->due || state_->clock.now() < *state_->due || state_->writer.gone()) {
        return state_->finish(pass);
    }
    ++state_->counters.retries;
    state_->reconcile(pass);
    state_->schedule(false);
    return state_->finish(pass);
}

Result<void> Reconciler::cap_copy(const std::shared_ptr<ClientFile>& file, const ElementPath& leaf,
                                  std::optional<Bandwidth> cap)
{
    const auto id = TRY(state_->leaf(leaf));
    if (!id || !state_->writing()) {
        return fail(ErrorCode::InvalidArgument, fmt::format("{} is not on this device", leaf.text()));
    }
    return state_->writer.cap_copy(file, *id, cap);
}

Report Reconciler::drain()
{
    auto pass = state_->begin();
    state_->draining_all = true;
    state_->replace_desired({}, pass);
    state_->reconcile(pass);
    state_->schedule(true);
    return state_->finish(pass);
}

void Reconciler::device_was_reset()
{
    state_->desired = {};
    state_->device.clear();
    state_->writer.forget_all();
    state_->refs.clear();
    state_->leaving.clear();
    state_->claimed.clear();
    state_->misplaced.clear();
    state_->refusals.clear();
    state_->failures.clear();
    state_->draining.clear();
    state_->unreachable.clear();
    state_->schedule(true);
    state_->refresh_snapshot();
}

void Reconciler::set_write(bool write)
{
    if (write == state_->options.write) {
        return;
    }
    state_->options.write = write;
    state_->due.reset();
    if (write) {
        state_->delay = state_->options.first_retry;
        state_->due = state_->clock.now();
    }
}

const ActualState& Reconciler::actual() const
{
    return state_->device.actual();
}

const DesiredState& Reconciler::desired() const
{
    return state_->desired;
}

std::uint64_t Reconciler::comparisons() const
{
    return state_->comparisons;
}

std::shared_ptr<const Snapshot> Reconciler::snapshot() const
{
    return state_->snapshot;
}

}    // namespace rdmaqos
