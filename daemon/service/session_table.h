// The inside of Service, shared by its source files: sessions, policy, devices.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>

#include "daemon/device/managed_device.h"
#include "daemon/device/placement.h"
#include "daemon/loop/gathering.h"
#include "daemon/loop/loader.h"
#include "daemon/service/device_switches.h"
#include "daemon/service/limits.h"
#include "daemon/service/service.h"
#include "daemon/service/staging.h"
#include "lib/base/file.h"
#include "lib/base/file_closer.h"

namespace rdmaqos {

struct Session {
    SessionId id{};
    PeerId peer{};
    std::shared_ptr<const Identity> owner;
    Request request;
    std::string device;    // key of the request's device; may be empty
    SessionState state = SessionState::Active;
    Choice choice;
    Grant grant;
    std::map<std::string, std::set<std::uint32_t>> queue_pairs;    // per device key
    // Device files its queue pairs came with, per device key. The reconciler holds them; this only finds them again.
    std::map<std::string, std::vector<std::weak_ptr<ClientFile>>> files;

    [[nodiscard]] std::uint32_t queue_pair_count() const;
};

// What a Plan has been made of, until the devices are asked.
struct TriedPlan {
    std::shared_ptr<Tried> tried;
    PlanDraft draft;
};

struct Service::State : DeviceListener {
    State(Service& owner, ServiceOptions given, Executor& loop, const Clock& time);

    // service.cpp
    template <typename Function>
    void notify(Function function);
    [[nodiscard]] Result<ManagedDevice*> device_by_name(const std::string& name) const;
    [[nodiscard]] Result<std::vector<ManagedDevice*>> devices_by_name(const std::string& name) const;
    [[nodiscard]] PathLimits path_limits(const Request& request) const;
    // For the administrator; Busy while shutting down.
    [[nodiscard]] Result<std::vector<ManagedDevice*>> devices_to_manage(const std::string& name) const;
    // Busy while shutting down.
    [[nodiscard]] Result<void> not_ending() const;
    // InvalidPolicy while there is none, Busy while shutting down.
    [[nodiscard]] Result<void> ready() const;

    // device_control.cpp
    using SwitchResults = std::shared_ptr<std::vector<DeviceReconcile>>;
    void switch_devices(const std::vector<ManagedDevice*>& which, bool off, const SwitchResults& results,
                        Callback<std::vector<DeviceReconcile>> done);
    // Drains, so many times if need be, and removes; then the part `key` of `all` has come.
    void let_go(const std::string& key, std::uint32_t attempts, const SwitchResults& results,
                const std::shared_ptr<Gathering>& all);
    void finish_release(DeviceReconcile result, const SwitchResults& results, const std::shared_ptr<Gathering>& all);
    // It went away, by itself or because it was let go of. `closed` when its files are closed, too.
    void remove_device(const std::string& key, LoopCallback<void()> closed);
    // For the answer to an administrator: a device that is still missing.
    [[nodiscard]] static DeviceReconcile unanswered(const std::string& key);
    [[nodiscard]] std::string unknown_device(const std::string& name) const;

    // awaited_devices.cpp
    // A device that enable() has asked back: `done` with what became of it, or why it does not come.
    void await(const DeviceId& id, const DeviceNames& names, std::function<void(DeviceReconcile)> done);
    void refuse_awaited(const DeviceId& id, std::string why);
    void has_come(ManagedDevice& device);

    // reloads.cpp
    // `done` gets the devices that have not answered in time.
    void commit(Staged staged, const Settings& with, Gathering::Done done);
    // The part of commit() that concerns rules and what follows from them; settings stay.
    void take_rules(Staged staged, Gathering::Done done);
    void next_reload();
    void finish_reload(const Result<std::shared_ptr<Tried>>& tried);
    void answer_reload(const ReloadOutcome& outcome);

    // fabric_upkeep.cpp
    [[nodiscard]] std::vector<LocalPort> local_ports() const;
    // Looks up the members of groups by this fabric and the present ports. If nobody came or went, that is all; else
    // levels are chosen anew and devices brought to them. `cause` begins a sentence for the journal.
    void resolve_again(std::shared_ptr<const Fabric> fabric, std::string_view cause, LoopCallback<void()> done);
    void resolve_soon();
    void finish_fabric(const FabricFile& file, LoopCallback<void()> done);
    // Told when they differ from the last ones.
    void set_fabric_error(std::string error, std::string unquoted);

    // plans.cpp
    enum class Books : bool { Borrowed, Copied };    // for another thread: copied
    [[nodiscard]] Scene scene(Books books) const;
    [[nodiscard]] std::vector<std::uint64_t> scene_mark() const;
    [[nodiscard]] Reading reading(std::shared_ptr<const SourceFile> text) const;
    // May this user have a policy read now, the host's (null) or this one?
    [[nodiscard]] Result<void> may_read(std::uint32_t uid, const SourceFile* text) const;
    void ask_devices(PlanDraft draft, Callback<PlanReport> done);
    void plan_from_memory(DevicePlan& plan, const DesiredState& desired) const;

    // grants.cpp
    [[nodiscard]] Grant make_grant(const Session& session, const Choice& choice) const;
    // What became of a session's queue pairs of one level.
    struct LevelUse {
        // Of the first of them, else of the session, else any; null: there is none.
        const ManagedDevice* nic = nullptr;
        std::size_t queue_pairs = 0;
        std::size_t unenforced = 0;
        std::string leaf;            // of the first of them
        std::string first_cause;     // of those that are not enforced
        std::string first_reason;    // of the same one
        std::string note;            // of one that is
    };
    [[nodiscard]] LevelUse use_of_level(const Session& session, const std::string& level) const;
    void explain_enforcement(const Session& session, Grant& grant) const;
    // The grant may have changed: it is made again, now or soon, and observers are told if it differs.
    void refresh(const Session& session);
    void refresh_all();
    // In attach mode per-process a grant depends on how many processes there are.
    void refresh_neighbours();
    // As it is now.
    [[nodiscard]] const Grant& grant_of(Session& session);
    void make_stale_grants();
    void make_new_grant(Session& session);

    // session_calls.cpp
    [[nodiscard]] Result<Session*> owned_session(PeerId peer, SessionId id);
    // By the rules that are in force. UnknownSession: its session has ended.
    [[nodiscard]] Result<Membership> membership_now(const Member& member) const;
    [[nodiscard]] Choice choose_for(const Session& session, const Member& member, const Rules& with,
                                    const Choice& of_session) const;
    // One ClientFile for each open file, however often its descriptor is passed; a queue pair without one is of the
    // file its session brought before. LimitReached: too many.
    [[nodiscard]] static Result<void> settle_file(Session& session, const std::string& device, QueuePairRef& ref);
    [[nodiscard]] Result<Member> make_member(const Session& session, const QueuePairRequest& request,
                                             const ManagedDevice& device) const;
    using NamedQueuePairs = std::set<std::pair<ManagedDevice*, std::uint32_t>>;    // so far in one call
    [[nodiscard]] Result<std::pair<ManagedDevice*, Member>> take(Session& session, QueuePairRequest& request,
                                                                 NamedQueuePairs& named) const;
    void attach(Session& session, std::vector<QueuePairRequest> queue_pairs,
                Callback<std::vector<QueuePairResult>> done);
    void finish_attach(SessionId id, const std::vector<QueuePairResult>& results);
    void remove_session(SessionId id, LoopCallback<void()> done);

    // metrics_collector.cpp
    void finish_metrics(std::uint64_t collection);
    [[nodiscard]] Metrics metrics() const;
    // The callback, which then also notes the time from now to its call.
    template <typename T>
    [[nodiscard]] Callback<T> timed(Histogram ServiceCounters::*histogram, Callback<T> done)
    {
        return [this, histogram, started = clock.now(), done = std::move(done)](Result<T> result) {
            (tally.*histogram).observe(clock.now() - started);
            done(std::move(result));
        };
    }

    // DeviceListener
    void queue_pairs_changed(const std::string& device, const std::vector<std::uint32_t>& numbers) override;
    void queue_pairs_vanished(const std::string& device,
                              const std::vector<std::pair<SessionId, std::uint32_t>>& gone) override;
    void device_was_reset(const std::string& device, const std::vector<SessionId>& affected) override;
    void device_removed_itself(const std::string& device) override;
    void device_status_changed(const std::string& device) override;
    void device_addresses_changed(const std::string& device) override;
    void drift_repaired(const std::string& device, std::uint32_t count) override;

    Service& service;
    ServiceOptions options;
    Executor& executor;
    const Clock& clock;
    std::vector<ServiceObserver*> observers;
    Settings settings;
    Rules rules;
    std::string reload_error;
    std::string reload_error_unquoted;    // for those who may not see lines of the host's files
    std::string fabric_error;
    std::string fabric_error_unquoted;
    FileStamp fabric_stamp;              // of the file that was read last
    std::unique_ptr<Timer> resolving;    // ports changed: groups are looked up when it ends
    UidLimits limits;
    std::map<SessionId, Session> sessions;
    std::unordered_map<std::uint64_t, std::set<SessionId>> by_peer;
    std::uint64_t next_session = 1;
    std::set<SessionId> stale_grants;
    std::unique_ptr<Timer> grants_timer;    // until when nothing is done about them
    std::uint64_t device_changes = 0;    // devices that came and went
    bool shutting_down = false;
    WallTime started_at;
    ServiceCounters tally;
    DoorCounters door_counters;

    // Metrics being put together, for all who have asked since.
    struct MetricsRequest {
        std::uint64_t collection = 0;    // never reused
        std::vector<LoopCallback<void(Metrics)>> waiting;
        std::map<std::string, PortCounters> ports;
        std::unique_ptr<Timer> patience;
        // Ports that have not answered yet, in whatever collection: a hung device is not asked twice.
        std::set<std::string> asked;
    } metrics_request;

    struct PendingReload {
        std::vector<LoopCallback<void(ReloadOutcome)>> waiting;
    };
    std::deque<PendingReload> reloads;    // the first is being served
    TimePoint reload_started{};
    std::shared_ptr<FileCloser> closer = std::make_shared<FileCloser>();
    std::map<std::string, std::uint64_t> processes_seen;    // per device: PlacementBook::processes_revision()
    SwitchedOff disabled;
    SwitchedOff released;
    std::map<std::string, std::unique_ptr<Timer>> releasing;    // by key; the pause before the next attempt
    std::function<void(Guid, std::uint32_t)> wanted_again;
    struct Awaited {
        DeviceNames names;
        std::unique_ptr<Timer> limit;
        std::vector<std::function<void(DeviceReconcile)>> done;
    };
    std::map<DeviceId, Awaited> awaited;    // enabled after a release, not here yet
    // What waits for another thread goes before the thread, and devices before all of it.
    EndingWorkers ending;
    Loader loader;
    LoopCalls calls;
    std::map<std::string, std::unique_ptr<ManagedDevice>> devices;    // by key
};

template <typename Function>
void Service::State::notify(Function function)
{
    for (ServiceObserver* observer : std::vector<ServiceObserver*>(observers)) {
        function(*observer);
    }
}

}    // namespace rdmaqos
