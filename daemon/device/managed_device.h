// One device as the main loop sees it: its book of placements, and the worker thread where its reconciler runs.
//
//     main loop                                      worker thread
//     facts: PlacementBook ── tree, queue pairs ──▶  Reconciler ──▶ Backend
//                          ◀── Report (posted) ──
//
// What is said of the facts is in enforcement.h and device_report.h, the thread in device_worker.h.
//
// Thread: the main loop. Callbacks run on the main loop, never before the call returns, and each of them runs: what a
// device has not answered when it goes is answered with DeviceGone.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/device/affected_sessions.h"
#include "daemon/device/device_facts.h"
#include "daemon/device/device_report.h"
#include "daemon/device/device_worker.h"
#include "daemon/device/enforcement.h"
#include "daemon/device/queue_pair_marks.h"
#include "daemon/loop/callback.h"
#include "daemon/model/device_status.h"
#include "daemon/model/metrics.h"
#include "daemon/model/session.h"
#include "lib/base/executor.h"
#include "policy/model/settings.h"

namespace rdmaqos {

// By the policy that runs now; an error if it gives the member no level.
using ChooseMembership = std::function<Result<Membership>(const Member& member)>;

// What a device tells its service.
class DeviceListener {
public:
    virtual ~DeviceListener() = default;
    // These queue pairs are elsewhere than before, or their error changed.
    virtual void queue_pairs_changed(const std::string& device, const std::vector<std::uint32_t>& numbers) = 0;
    // Their owners destroyed them; they are already forgotten.
    virtual void queue_pairs_vanished(const std::string& device,
                                      const std::vector<std::pair<SessionId, std::uint32_t>>& gone) = 0;
    // The device lost everything; its members are already forgotten. The sessions `affected` had queue pairs on it;
    // some may have ended since.
    virtual void device_was_reset(const std::string& device, const std::vector<SessionId>& affected) = 0;
    virtual void device_removed_itself(const std::string& device) = 0;
    // Perhaps: it has answered, or says that something is not as it was.
    virtual void device_status_changed(const std::string& device) = 0;
    // Its GUIDs, GIDs, P_Keys or description: info() has the new ones.
    virtual void device_addresses_changed(const std::string& device) = 0;
    virtual void drift_repaired(const std::string& device, std::uint32_t count) = 0;
    // What holds of its classes' promises may be something else now, though nothing was written to it.
    virtual void promises_changed(const std::string& device) = 0;
};

class ManagedDevice {
public:
    // `ending` takes the worker thread when this object goes: waiting for firmware is not for the main loop.
    // `handover` may be null: nothing is left by an earlier daemon, nor to the next one.
    ManagedDevice(std::unique_ptr<Backend> backend, std::shared_ptr<DeviceHandover> handover, const Settings& settings,
                  Executor& executor, const Clock& clock, DeviceListener& listener, EndingWorkers& ending);
    ~ManagedDevice();
    ManagedDevice(const ManagedDevice&) = delete;
    ManagedDevice& operator=(const ManagedDevice&) = delete;

    // The end, once: the listener is not notified any more, and what waits for the device is answered. `closed` is
    // called when the worker has done what was queued and has closed the device. The caller may be one of this object's
    // own callbacks; it is destroyed later.
    void leave(LoopCallback<void()> closed) { end(Farewell::ForGood, std::move(closed)); }
    // The same, but what is on the device stays for the next daemon.
    void hand_over(LoopCallback<void()> closed) { end(Farewell::ToNextDaemon, std::move(closed)); }
    [[nodiscard]] bool can_be_handed_over() const { return worker_.is_kept(); }

    [[nodiscard]] const std::string& key() const { return facts_.key; }
    [[nodiscard]] const DeviceInfo& info() const { return facts_.info; }
    [[nodiscard]] const Capabilities& capabilities() const { return facts_.capabilities; }
    [[nodiscard]] const AttachReport& attach_report() const { return facts_.attach; }
    [[nodiscard]] const PlacementBook& book() const { return facts_.book; }
    [[nodiscard]] const std::shared_ptr<const Snapshot>& snapshot() const { return facts_.snapshot; }
    [[nodiscard]] DeviceStatus status() const { return device_status(facts_, worker_.answers()); }
    // `policy`: the running one, or null. Without the port's counters.
    [[nodiscard]] DeviceMetrics metrics(const Policy* policy) const
    {
        return device_metrics(facts_, worker_.answers(), policy);
    }
    // If it is gone: who has lost queue pairs by that, and how many sessions had queue pairs on it (some have ended
    // with it).
    [[nodiscard]] std::set<SessionId> sessions_hit() const { return affected_.hit(facts_.book, clock_.now()); }
    [[nodiscard]] std::size_t sessions_until_now() const { return affected_.until_now(facts_.book, clock_.now()); }
    // It said that it went away.
    [[nodiscard]] bool gone() const { return facts_.gone; }
    [[nodiscard]] bool is_silent() const { return worker_.answers().is_silent(); }
    [[nodiscard]] WorkerPulse pulse() const { return worker_.pulse(); }
    // Rises with every change of the book that a policy tried on it depends on.
    [[nodiscard]] std::uint64_t changes() const { return changes_; }
    // Busy when the device's queue is full: asked before a client's work is taken on.
    [[nodiscard]] Result<void> has_room() const;

    // A book for a policy that may come to be, with this device's abilities.
    [[nodiscard]] PlacementBook new_book() const;
    // Replaces the book and makes the device equal to it.
    void adopt(PlacementBook book, LoopCallback<void()> done);
    // adopt() follows, which writes what a device gets by another mode.
    void set_settings(const Settings& settings);
    // The traffic classes that the daemon keeps on its port.
    void set_kept_classes(std::vector<KeptClass> classes);
    // Lets the device find out what it put off (AttachReport::postponed).
    void test_attaching(Callback<void> done);
    // Disabled: members stay, but are in no leaf and without a rate, and there is no tree; new ones are taken the same
    // way. Enabled again: everything is placed. `done` gets what was written to the device and what did not work.
    void set_disabled(bool disabled, LoopCallback<void(DeviceReconcile)> done);
    [[nodiscard]] bool disabled() const { return facts_.disabled; }
    // Disabled, or being released: nothing of a policy is put on it.
    [[nodiscard]] bool held_back() const { return facts_.held_back(); }

    // Adds members that the device admits; the results are in the order given. Until then a number is nobody's: who
    // names the queue pair of another cannot keep its owner out. The policy may change while the device is asked, so
    // what an admitted member gets is chosen last.
    void add(std::vector<Member> members, ChooseMembership choose,
             LoopCallback<void(std::vector<QueuePairResult>)> done);
    // As Backend::find_queue_pairs.
    void find_queue_pairs(std::shared_ptr<ClientFile> file, std::vector<SoughtQueuePair> sought,
                          std::set<std::uint32_t> known, Callback<QueuePairSearch> done);
    // Of this session; also those that are not admitted yet.
    void remove(SessionId session, const std::vector<std::uint32_t>& numbers, LoopCallback<void()> done);
    void change_rate(std::uint32_t number, std::optional<RateLimit> rate, Callback<void> done);

    [[nodiscard]] std::optional<QueuePairStanding> standing(std::uint32_t number) const
    {
        return queue_pair_standing(facts_, number);
    }
    [[nodiscard]] std::optional<QueuePairResult> result(std::uint32_t number) const
    {
        return queue_pair_result(facts_, number);
    }

    [[nodiscard]] Unenforced expected(const Membership& membership, const Identity& owner) const
    {
        return expected_enforcement(facts_, membership, owner);
    }
    [[nodiscard]] std::string_view outside_leaf(std::uint32_t number) const
    {
        return rdmaqos::outside_leaf(facts_, number);
    }
    [[nodiscard]] Bandwidth max_rate_now(const ElementPath& leaf, pid_t pid) const
    {
        return rdmaqos::max_rate_now(facts_, leaf, pid);
    }
    // Asks the device for the marks of queue pairs of these levels, as far as they are not known; all who ask meanwhile
    // are answered with the first. What it takes, it takes in turns with other work.
    void read_marks(std::shared_ptr<const DscpOfLevels> levels, Callback<void> done);
    [[nodiscard]] DeviceMarks marks(const DscpOfLevels& levels) const { return count_marks(facts_, levels); }
    [[nodiscard]] std::optional<QueuePairMark> mark(std::uint32_t number) const { return mark_of(facts_, number); }
    [[nodiscard]] std::string_view why_mark_unseen(std::uint32_t number) const
    {
        return rdmaqos::why_mark_unseen(facts_, number);
    }
    // Caps of leaves of single processes (Backend::cap_copy()), in this order; `done` gets which of them were refused.
    struct CopyCap {
        std::shared_ptr<ClientFile> file;
        ElementPath leaf;
        std::optional<Bandwidth> cap;
    };
    void cap_copies(std::vector<CopyCap> caps, Callback<std::vector<std::size_t>> done);
    // Why such caps do not follow what is measured; empty: they do.
    void set_not_adaptive(std::string why);
    // What the port has moved.
    void counters(Callback<CounterReading> done);
    // What would have to be done to it for this state.
    void plan(std::shared_ptr<const DesiredState> wanted, Callback<PlannedChange> done);
    void reconcile_now(LoopCallback<void(DeviceReconcile)> done);
    // Asks the device what it is now: link, addresses, description.
    void refresh_info();
    void verify(bool repair, Callback<DeviceDrift> done);
    // Everything out of the tree and the tree down; nothing goes back in. May be called again for what could not go.
    void drain(LoopCallback<void(DeviceReconcile)> done);

private:
    using Results = std::vector<QueuePairResult>;

    // For worker_.run: takes the report, then calls `done` with what became of the work.
    [[nodiscard]] Callback<Report> reported(Callback<void> done);
    void end(Farewell farewell, LoopCallback<void()> closed);
    void stop_timers()
    {
        retry_timer_.reset();
        drift_timer_.reset();
    }
    // test_attaching(), if elements are to be written to it now. `then`, perhaps before this returns, gets an error if
    // the device has gone.
    void when_tested(Callback<void> then);
    // Makes the device follow facts_.disabled.
    void tell_disabled(LoopCallback<void(DeviceReconcile)> done);
    void take_attach_report(AttachReport report, const Capabilities& capabilities);
    // Of the book, or nothing while it must not be on the device.
    [[nodiscard]] DesiredState desired() const;
    void send_update(std::vector<QueuePairUpdate> updates, Callback<void> done);
    void add_admitted(std::vector<Member> members, const std::vector<Result<Admission>>& admissions,
                      const ChooseMembership& choose, LoopCallback<void(Results)> done);
    // Forgets them; a result for each.
    Results refuse(const std::vector<Member>& members, const Error& error);
    [[nodiscard]] std::optional<Error> why_not_added(const Member& member, const Result<Admission>& admission) const;
    void want_rate(std::uint32_t number, std::optional<RateLimit> rate, Callback<void> done);
    [[nodiscard]] Results results_of(const std::vector<Member>& members);
    void go_on_reading_marks(std::shared_ptr<const DscpOfLevels> levels);
    void answer_marks(const Result<void>& answer);
    void take_report(const Report& report);
    void forget_vanished(const Report& report);
    void schedule_retry(const std::optional<std::chrono::milliseconds>& after);
    void schedule_drift_check();
    void handle_event(DeviceEvent event);
    void take_info(const DeviceInfo& info);
    void start_again(bool after_reset);

    DeviceFacts facts_;
    Executor& executor_;
    const Clock& clock_;
    DeviceListener& listener_;
    std::uint64_t changes_ = 0;      // of the book
    bool whole_tree_next_ = true;    // the worker may not have the tree that a difference refers to
    std::multiset<std::pair<SessionId, std::uint32_t>> waiting_;    // for admission
    AffectedSessions affected_;
    std::unique_ptr<Timer> retry_timer_;
    std::unique_ptr<Timer> drift_timer_;
    bool checking_ = false;    // for drift
    std::vector<Callback<void>> waiting_for_marks_;
    DeviceWorker worker_;
};

}    // namespace rdmaqos
