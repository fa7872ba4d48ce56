// Keeps one device equal to what is desired: diff, apply, read back, retry.
//
// The reconciler is the only one who knows both logical element ids (lib/tree/plan.h) and the backend's handles. It
// keeps what worked, reports what did not, and never gives up: failures are retried with exponential backoff, leaves
// that cannot go yet because they hold queue pairs are "draining" and tried again.
//
// Thread: everything here runs on the device's worker thread (worker.h). Results are values that can be handed
// to another thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/histogram.h"
#include "lib/base/shared_map.h"
#include "lib/nic/backend.h"
#include "lib/reconcile/inheritance.h"
#include "lib/tree/plan.h"

namespace rdmaqos {

struct ReconcilerOptions {
    bool write = true;    // false: monitor mode, nothing is ever written to the device
    std::chrono::milliseconds first_retry{100};
    std::chrono::milliseconds longest_retry{30'000};
    // EBUSY on a queue pair (the owner's own call in flight) is retried at once this often before it is a failure.
    std::uint32_t busy_retries = 5;
    // A queue pair that leaves but cannot be taken out of its leaf (its state does not allow it) is released after
    // this many attempts: holding on to its owner's file would keep a dead process's queue pair alive.
    std::uint32_t removal_attempts = 3;
    // The same while all are taken out: what stays in its leaf then keeps the leaf in the firmware when the device's
    // file is closed.
    std::uint32_t drain_attempts = 20;
};

// One queue pair to bring into the tree, to move, or (placement empty) to take out and forget.
struct QueuePairUpdate {
    QueuePairRef ref;
    std::optional<Placement> placement;
    // Its owner says that it may have lost its leaf or its rate (as it does in RESET): both are written once even if
    // they are believed to be there. Nothing is written where nothing is desired nor believed.
    bool again = false;
};

// Where a queue pair now really is.
struct QueuePairOutcome {
    QueuePairId queue_pair;
    ElementPath requester;    // empty: in no leaf
    ElementPath responder;
    std::optional<RateLimit> rate;
    std::optional<Error> error;    // why it is not where it should be

    friend bool operator==(const QueuePairOutcome&, const QueuePairOutcome&) = default;
};

struct ElementFailure {
    ElementPath path;
    std::string operation;    // "create", "modify", "destroy", or "query" when it could not be read back
    Error error;
    std::uint32_t attempts = 1;
    bool is_given_up = false;    // it is not tried again by itself

    friend bool operator==(const ElementFailure&, const ElementFailure&) = default;
};

enum class OperationKind : std::uint8_t { Create, Modify, Destroy, Place, SetRate };
constexpr std::size_t kOperationKinds = 5;
// "create", "modify", "destroy", "place", "set-rate"
[[nodiscard]] std::string_view to_string(OperationKind kind);

// The writes of one kind since the start.
struct OperationStatistics {
    Histogram times;    // of all, failed ones included
    std::uint64_t failed = 0;

    friend bool operator==(const OperationStatistics&, const OperationStatistics&) = default;
};
using OperationsByKind = std::array<OperationStatistics, kOperationKinds>;    // index: OperationKind

struct Counters {
    std::uint64_t operations = 0;     // writes sent to the device, failed ones included; queries are not counted
    std::uint64_t failed = 0;         // those of them that failed
    std::uint64_t retries = 0;        // runs of retry(), and repeats at once after Busy
    std::uint64_t drift_found = 0;    // by every verify()
    std::uint64_t drift_repaired = 0;

    friend bool operator==(const Counters&, const Counters&) = default;
};

// As ActualState, without queue pairs. The copies of one that changes share what they have in common.
struct SharedElements {
    SharedMap<ElementId, ActualElement> elements;
    std::uint64_t next_id = 1;

    [[nodiscard]] ActualState plain() const { return {{elements.begin(), elements.end()}, {}, next_id}; }
};

// What the main thread may know of the device; immutable, cheap to share, and cheap to make after a small change.
struct Snapshot {
    std::uint64_t tree_revision = 0;    // another number for another tree: elements, queue pairs in them, what drains
    SharedElements actual;              // without queue pairs (they may be many); see Reconciler::actual()
    SharedMap<ElementPath, std::uint32_t> queue_pairs_in;    // per leaf, requester side
    std::vector<ElementPath> draining;                       // should go, but hold queue pairs or are otherwise in use
    std::vector<ElementFailure> failures;                    // not yet healed
    std::vector<Unreachable> unreachable;
    Counters counters;
    OperationsByKind operations;    // what `counters` says of operations and failures, kind by kind
};

// A tree that shall be there from now on: all of it, or what differs from the one before, or neither.
struct TreeUpdate {
    TreeUpdate() = default;
    // NOLINTBEGIN(google-explicit-constructor): each of them is one
    TreeUpdate(std::nullopt_t /*nothing*/) {}
    TreeUpdate(Tree tree) : whole(std::move(tree)) {}
    TreeUpdate(ElementChanges changes) : changed(std::move(changes)) {}
    // NOLINTEND(google-explicit-constructor)

    std::optional<Tree> whole;
    ElementChanges changed;
};

struct Report {
    std::uint64_t operations = 0;    // device operations of this call, as in Counters
    Duration took{};
    std::vector<QueuePairOutcome> queue_pairs;               // those asked for in this call, and those that moved
    std::optional<std::chrono::milliseconds> retry_after;    // call retry() then; empty: nothing is open
    bool device_gone = false;
    std::shared_ptr<const Snapshot> snapshot;
};

enum class DriftKind : std::uint8_t {
    Missing,
    Share,
    MaxRate,
    Parent,
    Kind,
    Unknown,       // of the root: elements of ours that nobody uses
    Unreadable,    // of the root, for all: what the device answers to queries is not what was written
};

struct Drift {
    ElementPath path;
    DriftKind kind;
    std::string expected;    // "share 60"
    std::string found;       // "share 10"; "nothing" for Missing
    bool repaired = false;
    std::optional<Error> error;    // of the repair

    friend bool operator==(const Drift&, const Drift&) = default;
};

struct DriftReport {
    std::vector<Drift> drifts;
    Report report;    // of the repair; without operations when only looking
};

class Reconciler {
public:
    // Both must outlive the reconciler.
    Reconciler(Backend& backend, const Clock& clock, ReconcilerOptions options);
    ~Reconciler();
    Reconciler(const Reconciler&) = delete;
    Reconciler& operator=(const Reconciler&) = delete;

    // Before anything else: goes on with what an earlier process left on the device. Its elements are read back before
    // they are used. A leaf that holds queue pairs of it stays until their programs have named them again or have
    // ended; one that is named again is written once. From now on `recorder`, which must outlive the reconciler, is
    // given what the next one needs. An error says what could not be taken over; the rest was.
    Result<void> inherit(const Inheritance& left, StateRecorder& recorder, ProcessRuns runs);

    // Makes the device equal to `desired` as far as it lets itself. Queue pairs of `desired` must be known from an
    // earlier update(); those that are known but not in `desired` are taken out. What a device refuses always (a type
    // of queue pair it cannot attach, a rate out of its range) is not tried again until it is asked for again.
    [[nodiscard]] Report replace(DesiredState desired);

    // A queue pair that the device says does not exist (any longer) is reported with BadQueuePair and forgotten; one
    // whose leaf does not exist (yet) stays where it was, is reported, and is tried again.
    //
    // Adds, moves or removes some queue pairs; with `tree` also changes the tree (and placements of others that the
    // new tree requires: `moves`). Without a tree this costs only the queue pairs named, and with leaves that come or
    // go only those too, as long as nothing is open and the device has room.
    [[nodiscard]] Report update(TreeUpdate tree, std::vector<QueuePairUpdate> queue_pairs,
                                std::map<QueuePairId, Placement> moves);

    // Tries again what failed, is draining or was unreachable, if its time has come.
    [[nodiscard]] Report retry();

    // Backend::cap_copy() of the leaf of this path; what verify() finds in a copy then is no drift. InvalidArgument:
    // there is no such leaf, or nothing is written to this device.
    [[nodiscard]] Result<void> cap_copy(const std::shared_ptr<ClientFile>& file, const ElementPath& leaf,
                                        std::optional<Bandwidth> cap);

    // Reads every element back. `repair`: writes what differs. Queue pairs are never polled.
    [[nodiscard]] DriftReport verify(bool repair);

    // Every queue pair out of the tree, then the elements bottom-up. The desired state becomes empty. Also in monitor
    // mode: it takes back what was written before. What cannot go yet is retried until something else is desired.
    [[nodiscard]] Report drain();

    // Forgets everything that was on the device (after a reset: it is all gone) and starts again from nothing. Queue
    // pairs are forgotten too: their owners register again. Until then every call reports device_gone, once a call has
    // been notified by the device.
    void device_was_reset();

    // Leaving monitor mode makes what was desired meanwhile due for retry().
    void set_write(bool write);

    [[nodiscard]] const ActualState& actual() const;
    [[nodiscard]] const DesiredState& desired() const;
    [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const;
    // How often all that is desired was compared with all that is there.
    [[nodiscard]] std::uint64_t comparisons() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}    // namespace rdmaqos
