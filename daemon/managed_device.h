// One device as the main loop sees it: its book of placements, and the worker thread where its reconciler runs.
//
//     main loop                                   worker thread
//     PlacementBook ── tree, queue pairs ──▶      Reconciler ──▶ Backend
//                   ◀── Report (posted) ──
//
// Thread: the main loop. Callbacks run on the main loop, never before the call returns.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/metrics.h"
#include "daemon/placement.h"
#include "daemon/types.h"
#include "lib/base/executor.h"
#include "lib/reconcile/worker.h"
#include "policy/settings.h"

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
    // The device lost everything; its members are already forgotten. The sessions `affected` had queue pairs on it.
    virtual void device_was_reset(const std::string& device, const std::vector<SessionId>& affected) = 0;
    virtual void device_removed_itself(const std::string& device) = 0;
    virtual void device_status_changed(const std::string& device) = 0;
    // Its GUIDs, GIDs, P_Keys or description: info() has the new ones.
    virtual void device_addresses_changed(const std::string& device) = 0;
    virtual void drift_repaired(const std::string& device, std::uint32_t count) = 0;
};

class ManagedDevice {
public:
    // `reaper` ends the worker thread when this object goes: waiting for firmware is not for the main loop.
    ManagedDevice(std::unique_ptr<Backend> backend, const Settings& settings, Executor& executor, const Clock& clock,
                  DeviceListener& listener, Worker& reaper);
    ~ManagedDevice();
    ManagedDevice(const ManagedDevice&) = delete;
    ManagedDevice& operator=(const ManagedDevice&) = delete;

    [[nodiscard]] const std::string& key() const { return key_; }
    [[nodiscard]] const DeviceInfo& info() const { return info_; }
    [[nodiscard]] const Capabilities& capabilities() const { return capabilities_; }
    [[nodiscard]] AttachMode attach_mode() const { return attach_.mode; }
    [[nodiscard]] const PlacementBook& book() const { return book_; }
    [[nodiscard]] DeviceStatus status() const;
    // `policy`: the running one, or null. Without the port's counters.
    [[nodiscard]] DeviceMetrics metrics(const Policy* policy) const;
    // Busy when the device's queue is full: asked before a client's work is taken on.
    [[nodiscard]] Result<void> has_room() const;

    // A book for a policy that may come to be, with this device's abilities.
    [[nodiscard]] PlacementBook new_book() const;
    // Replaces the book and makes the device equal to it.
    void adopt(PlacementBook book, std::function<void()> done);
    void set_settings(const Settings& settings);
    // Disabled: members stay, but are in no leaf and without a rate, and there is no tree; new ones are taken the same
    // way. Enabled again: everything is placed. `done` gets what the device was told and what did not work.
    void set_disabled(bool disabled, std::function<void(DeviceReconcile)> done);
    [[nodiscard]] bool disabled() const { return disabled_; }

    // Adds members that the device admits; the results are in the order given. Until then a number is nobody's: who
    // names the queue pair of another cannot keep its owner out. The policy may change while the device is asked, so
    // what an admitted member gets is chosen last.
    void add(std::vector<Member> members, ChooseMembership choose,
             std::function<void(std::vector<QueuePairResult>)> done);
    // Of this session; also those that are not admitted yet.
    void remove(SessionId session, const std::vector<std::uint32_t>& numbers, std::function<void()> done);
    void change_rate(std::uint32_t number, std::optional<RateLimit> rate, Callback<void> done);

    // Empty for a number that is not a member.
    [[nodiscard]] std::optional<QueuePairResult> result(std::uint32_t number) const;

    // Why queue pairs of this level, of which the caller has none here yet, will not get what it says. Without a cause,
    // the words are what to know.
    [[nodiscard]] Unenforced expected(const Membership& membership, const Identity& owner) const;

    // What the attach mode leaves of a class's promise; `pid`: of whom that is asked.
    [[nodiscard]] AttachVerdict attach_verdict(const ElementPath& class_path, std::optional<pid_t> pid) const;

    // What the port has moved.
    void counters(Callback<CounterReading> done);
    void with_actual(std::function<void(ActualState)> done);
    void reconcile_now(std::function<void(DeviceReconcile)> done);
    // Asks the device what it is now: link, addresses, description.
    void refresh_info();
    void verify(bool repair, std::function<void(DeviceDrift)> done);
    // Everything out of the tree and the tree down; nothing goes back in. May be called again for what could not go.
    void drain(std::function<void(DeviceReconcile)> done);

private:
    struct Core;    // what the worker thread owns
    // Where a queue pair really is, as the last report said.
    struct Outcome {
        QueuePairOutcome last;
        bool known = false;    // a report has come
        bool owner_verified = true;
        bool admitted = false;    // its attach was answered: the device knew it
    };
    using Results = std::vector<QueuePairResult>;

    template <typename Work, typename Done>
    void on_worker(Work work, Done done);
    // Of the book, or nothing while it must not be on the device.
    [[nodiscard]] bool held_back() const { return disabled_ || draining_; }
    [[nodiscard]] DesiredState desired() const;
    [[nodiscard]] DeviceReconcile to_result(const Report& report) const;
    void send_update(std::vector<QueuePairUpdate> updates, std::function<void()> done);
    void add_admitted(std::vector<Member> members, const std::vector<Result<Admission>>& admissions,
                      const ChooseMembership& choose, std::function<void(Results)> done);
    [[nodiscard]] std::optional<Error> why_not_added(const Member& member, const Result<Admission>& admission) const;
    [[nodiscard]] Results results_of(const std::vector<Member>& members);
    void take_report(const Report& report);
    void forget_vanished(const Report& report);
    void schedule_retry(const std::optional<std::chrono::milliseconds>& after);
    void schedule_drift_check();
    void handle_event(DeviceEvent event);
    void take_info(const DeviceInfo& info);
    void start_again(bool after_reset);
    [[nodiscard]] QueuePairResult refused(const Member& member, const Error& error) const;
    [[nodiscard]] std::string reason_of(const DeviceStatus& status) const;
    [[nodiscard]] Unenforced why_unenforced(const Member& member, const Outcome& outcome) const;
    void add_expected_limit(const Membership& membership, Unenforced& result) const;
    [[nodiscard]] std::string is_disabled() const;
    [[nodiscard]] std::string no_class_leaf(const ElementPath& class_path) const;
    [[nodiscard]] std::vector<std::string> attach_notes() const;
    void count_members(DeviceMetrics& metrics) const;
    void count_leaves(DeviceMetrics& metrics, const Policy& policy) const;

    std::string key_;
    DeviceInfo info_;
    Capabilities capabilities_;
    AttachReport attach_;
    std::shared_ptr<const std::vector<DeviceAttribute>> attributes_;
    Settings settings_;
    Executor& executor_;
    DeviceListener& listener_;
    PlacementBook book_;
    std::unordered_map<std::uint32_t, Outcome> outcomes_;
    std::multiset<std::pair<SessionId, std::uint32_t>> waiting_;    // for admission
    std::shared_ptr<const Snapshot> snapshot_;
    Histogram passes_;
    std::unique_ptr<Timer> retry_timer_;
    std::unique_ptr<Timer> drift_timer_;
    DeviceState last_state_ = DeviceState::Ready;
    bool gone_ = false;    // for ever
    bool lost_ = false;    // until the next report says otherwise
    bool draining_ = false;
    bool disabled_ = false;    // by the administrator
    std::shared_ptr<Core> core_;
    std::shared_ptr<int> alive_;    // what a posted completion checks before it touches this object
    Worker& reaper_;
    std::shared_ptr<Worker> worker_;
};

}    // namespace rdmaqos
