// Private to lib/reconcile: what a Reconciler consists of. Three files share it:
//
//     reconciler.cpp           the calls of the public interface; when to try again; snapshots and reports
//     reconciler_pass.cpp      one run over a plan, or over some queue pairs
//     reconciler_verify.cpp    drift
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/reconcile/device_writer.h"
#include "lib/reconcile/reconciler.h"
#include "lib/reconcile/tracked_state.h"

namespace rdmaqos {

// A leaf that comes (`create`) or goes.
struct LeafChange {
    ElementPath path;
    ElementId id{};
    std::optional<CreateElement> create;
};

struct Reconciler::State {
    // One call of the public interface.
    struct Pass {
        std::uint64_t operations_before = 0;
        TimePoint started{};
        bool clean = true;                         // no operation failed or was left out
        std::map<ElementId, Error> not_created;    // by this pass, with what follows from it
        // To be reported. An error here is one that State does not remember: of a queue pair that was released.
        std::map<QueuePairId, std::optional<Error>> touched;
        std::set<QueuePairId> explained;    // whose error in `misplaced` is of this pass
        std::map<std::pair<ElementPath, std::string>, ElementFailure> failures_before;
    };

    // What the device refuses always; while the same is desired it is not asked for again.
    struct Refusal {
        Placement placement;
        bool leaves = false;
        bool rate = false;
        Error error;
    };

    State(Backend& backend, const Clock& clock, ReconcilerOptions options);

    // ---- reconciler.cpp ----

    [[nodiscard]] Pass begin() const;
    [[nodiscard]] Report finish(Pass& pass);
    // Queue pairs whose reason has come or gone, or is another than was reported, though nothing was done to them: what
    // keeps them from their leaf may be elsewhere in the tree.
    void touch_changed_reasons(Pass& pass);
    // What is remembered of why it is not where it should be; empty: it is.
    [[nodiscard]] std::optional<Error> reason(QueuePairId queue_pair) const;
    [[nodiscard]] bool writing() const { return options.write || draining_all; }
    [[nodiscard]] bool open() const;
    // `fresh`: something new was asked for, so that waiting starts from the beginning.
    void schedule(bool fresh);
    void schedule_soon();
    [[nodiscard]] QueuePairOutcome outcome(QueuePairId queue_pair, const std::optional<Error>& error) const;
    void refresh_snapshot();
    void replace_desired(DesiredState replacement, Pass& pass);
    [[nodiscard]] std::vector<LeafChange> local_changes(const TreeUpdate& tree) const;
    void want_tree(TreeUpdate tree);
    // Takes note of one update without touching the device.
    void want(const QueuePairUpdate& update, Pass& pass);
    void want_placement(QueuePairId queue_pair, Placement placement, Pass& pass);
    // What is believed of a queue pair and is desired as well, so that it is written again.
    void doubt_placement(QueuePairId queue_pair, const Placement& placement);
    // After this the placements of `desired` are in leaves of its tree.
    void check_placement(QueuePairId queue_pair, Placement& placement, Pass& pass) const;
    // The queue pair is not desired any longer.
    void let_leave(QueuePairId queue_pair);
    // Those that an earlier process left and whose programs have ended: they are in no leaf any more.
    void forget_left_of_the_dead();

    // ---- reconciler_pass.cpp ----

    // False in monitor mode and when the device is gone; what is not in its place is notified of it.
    [[nodiscard]] bool may_write(Pass& pass);
    // All of it: diff, apply.
    void reconcile(Pass& pass);
    // The queue pairs touched so far, one by one, without a diff.
    void reconcile_named(Pass& pass);
    void reconcile(QueuePairId queue_pair, Pass& pass);
    // These leaves and the queue pairs touched so far: make, move, destroy.
    void reconcile_leaves(const std::vector<LeafChange>& leaves, Pass& pass);
    // The end of a run that created or destroyed.
    void end_of_run(Pass& pass);

    void read_doubtful(Pass& pass);
    [[nodiscard]] DesiredState attainable() const;
    void run(const CreateElement& create, Pass& pass);
    void run(const ModifyElement& modify, Pass& pass);
    void run(const DestroyElement& destroy, Pass& pass);
    void run(const MoveQueuePair& move, Pass& pass);
    void run(const SetQueuePairRate& set, Pass& pass);
    void note_element(const ElementPath& path, std::string_view operation, const Result<void>& result, Pass& pass);
    void note_queue_pair_failure(QueuePairId queue_pair, bool is_rate, Error error, Pass& pass);
    // Whether it cannot be written again, but needs not be.
    [[nodiscard]] bool stays_as_left(const QueuePairRef& ref, const ActualPlacement& left, const Error& error) const;
    void drop(QueuePairId queue_pair);
    void settle(QueuePairId queue_pair, Pass& pass);
    void settle_all(Pass& pass);
    void forget_departed();
    // The element that serves a desired path; while a better one is not there, the newest of that path.
    [[nodiscard]] std::optional<ElementId> current(const ElementPath& path) const;
    // The leaf of a path, or why there is none. No path: no leaf.
    [[nodiscard]] Result<std::optional<ElementId>> leaf(const ElementPath& path) const;
    [[nodiscard]] Error why_no_leaf(const ElementPath& path) const;
    [[nodiscard]] ActualPlacement placement_of(QueuePairId queue_pair) const;
    [[nodiscard]] bool is_in_place(QueuePairId queue_pair, const Placement& placement) const;
    [[nodiscard]] bool is_in_leaves(QueuePairId queue_pair, const Placement& placement) const;
    [[nodiscard]] const Refusal* refusal(QueuePairId queue_pair) const;

    // ---- reconciler_verify.cpp ----

    struct Found {
        ElementId id;
        std::optional<ElementState> state;    // empty: it is missing
    };
    [[nodiscard]] std::vector<Found> query_all(Pass& pass);
    [[nodiscard]] std::vector<Drift> drifts_in(const std::vector<Found>& found) const;
    void record(const std::vector<Found>& found);
    // Of all elements that are used, or are still to be destroyed.
    [[nodiscard]] std::vector<ElementHandle> known_handles() const;
    // What is on the device besides; an error is noted.
    [[nodiscard]] std::vector<Drift> unknown_elements(Pass& pass);
    void destroy_unknown(Drift& drift);
    // Whether the element is now as desired; if not, why.
    void note_repair(Drift& drift) const;

    Backend& backend;
    const Clock& clock;
    ReconcilerOptions options;

    DesiredState desired;
    TrackedState device;
    Counters counters;
    OperationsByKind operations;
    DeviceWriter writer;
    bool draining_all = false;    // drain() was the last that was asked for
    ProcessRuns runs;             // for those that an earlier process left

    std::map<QueuePairId, QueuePairRef> refs;        // of all that are desired or leaving
    std::map<QueuePairId, std::uint32_t> leaving;    // with failed attempts
    // Where an earlier process left them, until they are written again.
    std::map<QueuePairId, ActualPlacement> claimed;
    std::map<QueuePairId, Error> misplaced;     // why they are not where they should be; tried again
    std::map<QueuePairId, Refusal> refusals;    // not tried again
    std::map<QueuePairId, Error> reported;      // of the reasons in these two
    std::map<std::pair<ElementPath, std::string>, ElementFailure> failures;
    std::set<ElementPath> draining;
    std::vector<Unreachable> unreachable;

    std::optional<TimePoint> due;          // of the next retry; empty: nothing is open
    std::chrono::milliseconds delay{0};    // the one that led to `due`

    std::uint64_t comparisons = 0;
    std::shared_ptr<const Snapshot> snapshot;
    std::uint64_t snapshot_revision = 0;
};

}    // namespace rdmaqos
