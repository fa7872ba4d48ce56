// The inside of Service, shared by its source files: sessions, policy, devices.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>

#include "daemon/device_switches.h"
#include "daemon/file_closer.h"
#include "daemon/limits.h"
#include "daemon/managed_device.h"
#include "daemon/placement.h"
#include "daemon/service.h"
#include "lib/base/file.h"

namespace rdmaqos {

// Everything a request is judged by; replaced as a whole.
struct Rules {
    std::shared_ptr<const Policy> policy;    // null: there is none
    std::shared_ptr<const Fabric> fabric;
    std::shared_ptr<const Matcher> matcher;    // of the policy
    bool by_device = false;                    // some rule has a `device:` criterion
};

// The level of a request under some rules.
struct Choice {
    const QosLevel* level = nullptr;    // points into the policy; null: none, `refused` says why
    bool verified = false;
    Membership membership;
    std::optional<Error> refused;
};
[[nodiscard]] Choice choose(const Rules& rules, const Request& request, const Identity& owner);

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

// The fabric file as it was read, and what it looked like just before.
struct FabricFile {
    FileStamp stamp;
    ReadResult<Fabric> read;
};
[[nodiscard]] FabricFile load_fabric(const std::filesystem::path& root);

// What reading all files gave.
struct Loaded {
    ReadResult<Settings> settings;
    ReadResult<Fabric> fabric;
    FileStamp fabric_stamp;
    ReadResult<Policy> policy;

    [[nodiscard]] Diagnostics diagnostics() const;
    [[nodiscard]] bool ok() const { return settings.value && fabric.value && policy.value; }
};
[[nodiscard]] Loaded load_files(const std::filesystem::path& root, const NameService& names);

// A policy tried on the present devices and sessions, not yet in force.
struct Staged {
    struct Device {
        std::string key;
        PlacementBook book;
    };

    Rules rules;
    std::map<SessionId, Choice> sessions;
    std::vector<Device> devices;
    std::vector<std::pair<std::string, Finding>> findings;

    [[nodiscard]] bool has_errors() const;
};

// Something that several parts have to finish: it runs when the last copy is gone, whether a part answered or was
// dropped because its device went away. Copies are released on the main loop.
using Completion = std::shared_ptr<void>;

struct Service::State : DeviceListener {
    State(Service& owner, ServiceOptions given, Executor& loop, const Clock& time);

    // `done` runs when all copies are gone, unless the service itself is.
    [[nodiscard]] Completion completion(std::function<void()> done) const;

    // service.cpp
    template <typename Function>
    void notify(Function function);
    [[nodiscard]] Result<ManagedDevice*> device_by_name(const std::string& name) const;
    [[nodiscard]] Result<std::vector<ManagedDevice*>> devices_by_name(const std::string& name) const;
    [[nodiscard]] Rules make_rules(std::shared_ptr<const Policy> policy, std::shared_ptr<const Fabric> fabric) const;
    [[nodiscard]] PathLimits path_limits(const Request& request) const;
    // InvalidPolicy while there is none, Busy while shutting down.
    [[nodiscard]] Result<void> ready() const;

    // service_devices.cpp
    using SwitchResults = std::shared_ptr<std::vector<DeviceReconcile>>;
    void switch_devices(const std::vector<ManagedDevice*>& which, bool off, const SwitchResults& results,
                        Callback<std::vector<DeviceReconcile>> done);
    // Drains, so many times if need be, and removes.
    void let_go(const std::string& key, std::uint32_t attempts, const SwitchResults& results, const Completion& answer);
    [[nodiscard]] std::string unknown_device(const std::string& name) const;
    void refresh_all();
    // In attach mode per-process a grant depends on how many processes there are.
    void refresh_neighbours();

    // service_enable.cpp
    // A device that enable() has asked back: `done` with what became of it, or why it does not come.
    void await(const DeviceId& id, const DeviceNames& names, std::function<void(DeviceReconcile)> done);
    void refuse_awaited(const DeviceId& id, std::string why);
    void has_come(ManagedDevice& device);

    // service_policy.cpp
    [[nodiscard]] Staged stage(Rules new_rules, const Settings& new_settings) const;
    void commit(Staged staged, const Settings& with, std::function<void()> done);
    // The part of commit() that concerns rules and what follows from them; settings stay.
    void take_rules(Staged staged, std::function<void()> done);
    void next_reload();
    void finish_reload(const Loaded& loaded);
    // Reads the host's files, or the text with the running settings and fabric, off the main loop.
    void load(std::optional<std::shared_ptr<const SourceFile>> text, std::function<void(Loaded)> done);

    // service_fabric.cpp
    [[nodiscard]] std::vector<LocalPort> local_ports() const;
    // Looks up the members of groups by this fabric and the present ports. If nobody came or went, that is all; else
    // levels are chosen anew and devices brought to them. `cause` begins a sentence for the journal.
    void resolve_again(std::shared_ptr<const Fabric> fabric, std::string_view cause, std::function<void()> done);
    void resolve_soon();
    void finish_fabric(const FabricFile& file, std::function<void()> done);
    // Told when they differ from the last ones.
    void set_fabric_error(std::string error);

    // service_plan.cpp
    [[nodiscard]] std::vector<SessionChange> session_changes(const Staged& staged) const;

    // service_sessions.cpp
    [[nodiscard]] Grant make_grant(const Session& session, const Choice& choice) const;
    // What became of a session's queue pairs of one level.
    struct LevelUse {
        // Of the first of them, else of the session, else any; null: there is none.
        const ManagedDevice* nic = nullptr;
        std::size_t queue_pairs = 0;
        std::size_t unenforced = 0;
        std::string leaf;            // of the first of them
        std::string first_reason;    // of those that are not enforced
        std::string note;            // of one that is
    };
    [[nodiscard]] LevelUse use_of_level(const Session& session, const std::string& level) const;
    void explain_enforcement(const Session& session, Grant& grant) const;
    // Makes the grant anew and tells observers if it changed.
    void refresh(Session& session);
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
    void remove_session(SessionId id, std::function<void()> done);

    // service_metrics.cpp
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
    std::shared_ptr<int> alive = std::make_shared<int>(0);
    std::vector<ServiceObserver*> observers;
    Settings settings;
    Rules rules;
    std::string reload_error;
    std::string fabric_error;
    FileStamp fabric_stamp;              // of the file that was read last
    std::unique_ptr<Timer> resolving;    // ports changed: groups are looked up when it ends
    UidLimits limits;
    std::map<SessionId, Session> sessions;
    std::unordered_map<std::uint64_t, std::set<SessionId>> by_peer;
    std::uint64_t next_session = 1;
    bool shutting_down = false;
    WallTime started_at;
    ServiceCounters tally;
    DoorCounters door_counters;

    // Metrics being put together, for all who have asked since.
    struct MetricsRequest {
        std::uint64_t collection = 0;    // never reused
        std::vector<std::function<void(Metrics)>> waiting;
        std::map<std::string, PortCounters> ports;
        std::unique_ptr<Timer> patience;
        // Alive until the port has answered, in whatever collection: a hung device is not asked twice.
        std::map<std::string, std::weak_ptr<int>> asked;
    } metrics_request;

    struct PendingReload {
        std::vector<std::function<void(ReloadOutcome)>> waiting;
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
    Worker reaper{"reaper", 64};
    Worker loader{"loader", 64};
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
