// The daemon without its transports: policy, devices, sessions. It decides nothing about buses and nothing about
// firmware:
//
//     transports (daemon/bus) ──▶ Service ──▶ match, compile (pure) ──▶ ManagedDevice ──▶ worker thread: Reconciler
//
// Thread: the main loop, for every call and every callback. A callback may run before the call returns, and runs once;
// a service that is destroyed meanwhile destroys it instead.
//
// A device that answers nothing is waited for, for a while (kPatienceWithDevices); then the answer says so.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/loop/callback.h"
#include "daemon/model/adoption.h"
#include "daemon/model/device_status.h"
#include "daemon/model/metrics.h"
#include "daemon/model/path_result.h"
#include "daemon/model/reload.h"
#include "daemon/model/session.h"
#include "daemon/model/trial.h"
#include "daemon/service/host_view.h"
#include "daemon/service/observer.h"
#include "daemon/service/options.h"
#include "lib/base/executor.h"
#include "lib/base/file_closer.h"
#include "policy/explain/explain.h"
#include "policy/load/transient_files.h"
#include "policy/model/settings.h"

namespace rdmaqos {

class DeviceHandover;
struct WorkerPulse;

enum class EndOfService : std::uint8_t {
    Stop,       // devices are emptied
    Restart,    // what can be handed over to the next daemon stays; other devices are emptied
};

class Service {
public:
    // All must outlive the service.
    Service(ServiceOptions options, Executor& executor, const Clock& clock);
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    void add_observer(ServiceObserver& observer);
    void remove_observer(ServiceObserver& observer);

    // Reads settings, fabric and policy for the first time, on the calling thread, for those who look for devices:
    // settings() and makes_elements() are known then. start() does it if nobody has.
    void read_files();
    // Tries the policy on the devices that were added before, as a reload would, and takes it. One that is broken or
    // refused is not taken: the last good one runs in its place, and if there is none, the daemon runs without (every
    // request is answered with InvalidPolicy).
    [[nodiscard]] ReloadOutcome start();

    // A device appeared / went away. One that is not wanted() is closed again. Before start(), it gets no policy yet;
    // later, it gets the one that runs, which it cannot refuse. `handover`: by which what an earlier daemon left on it
    // is kept, and what this one leaves.
    void add_device(std::unique_ptr<Backend> backend, std::shared_ptr<DeviceHandover> handover = nullptr);
    void remove_device(const std::string& key);

    // Takes every queue pair of a device (`device` empty: of all that are present) out of its tree and the tree down;
    // sessions stay, new queue pairs are taken but not placed. Lasts, by node GUID and port, until enable(): over a
    // restart and a replug too. Answered when the devices have answered.
    void disable(const std::string& device, Callback<std::vector<DeviceReconcile>> done);
    // Also takes back release_device(); answered when such a device is here again, or with the reason why it is not.
    // `device` empty: all, those that are not present included.
    void enable(const std::string& device, Callback<std::vector<DeviceReconcile>> done);
    // Takes everything off a device and lets go of it, so that its driver can be worked on. Answered when its files are
    // closed. It stays away until enable(), until it has vanished and come back, or until the next boot.
    void release_device(const std::string& device, Callback<std::vector<DeviceReconcile>> done);
    [[nodiscard]] std::vector<std::string> released_devices() const;    // keys
    // For the discovery of devices: a managed port has changed (its addresses, P_Keys, link or description). It is
    // queried, and the groups that it belongs to are looked up again.
    void port_changed(Guid node_guid, std::uint32_t port);
    // For whoever looks for devices: may this one be opened?
    [[nodiscard]] bool wanted(Guid node_guid, std::uint32_t port) const;
    // A device that was found, but is not with us, is not there any longer.
    void device_vanished(Guid node_guid, std::uint32_t port);
    // `look` is called when a device that was not wanted is. It ends in add_device() or device_refused().
    void on_wanted_again(std::function<void(Guid node_guid, std::uint32_t port)> look);
    // For whoever looks for devices: this one cannot be taken. `why` is a sentence, for those who wait for it.
    void device_refused(Guid node_guid, std::uint32_t port, const std::string& why);
    // The same of one that is on this host, as long as it is there and is not added: the reports say so.
    void device_not_managed(const DeviceInfo& port, const std::string& why);
    [[nodiscard]] std::vector<RefusedDevice> refused_devices() const;

    // Reads all files again, off the main loop; accepted only if there is no error in them and no device makes it
    // refuse the policy (policy/model/verdict.h). Otherwise everything stays as it is. Concurrent calls are served one
    // after another. `done` when every device has been told and has answered; one that does not answer is named in
    // `unanswered`, and takes the policy when it does.
    // A trial that is in force ends with it.
    void reload(LoopCallback<void(ReloadOutcome)> done);
    // Reads only the transient files again, and merges them into what is in force: the text of a trial, and the other
    // files as they were when they were read. What became of those since takes no effect and refuses nothing. As
    // reload() while no policy is in force.
    void refresh(LoopCallback<void(ReloadOutcome)> done);
    // A trial: reads all files again with this text in the place of kTriedFile and puts the policy in force as reload()
    // does, in memory alone. When the time is over, the files are what is in force, as after reload(), or, if they
    // cannot be used, what was in force before. Another one takes the place of the first. Errors: InvalidArgument for a
    // timeout or text that makes no sense, InvalidPolicy if there is no policy to go back to, Busy.
    void try_policy(TrialRequest request, Callback<TrialOutcome> done);
    // Ends the trial of this revision if the files say the same by now: what is in force stays, without a write to any
    // device. Errors: InvalidArgument if it is not tried or the files differ, which the error names; InvalidPolicy if
    // they cannot be used.
    void confirm_trial(const std::string& revision, Callback<void> done);
    // Goes back as when the time is over. Not accepted: the files cannot be used, and what was in force before the
    // trial is again. InvalidArgument: there is no trial.
    void revert_trial(Callback<ReloadOutcome> done);
    // Empty: there is none.
    [[nodiscard]] std::optional<TrialStatus> trial() const;
    // Null: there is none.
    [[nodiscard]] std::shared_ptr<const SourceFile> tried_text() const;
    // Reads the fabric file alone again, off the main loop, and looks up the members of port groups anew: sessions and
    // queue pairs get the levels they then belong in, and devices are told what changed. A broken file changes nothing
    // but fabric_diagnostics(); one that is gone is an empty fabric. `done` when every device has answered.
    void reread_fabric(LoopCallback<void()> done);
    // The same, unless the file is the one that was read last.
    void look_at_fabric(LoopCallback<void()> done);
    // Where the fabric file is.
    [[nodiscard]] std::filesystem::path fabric_file() const;
    // Policy files of /run as they were when the files were last read.
    [[nodiscard]] const std::vector<TransientFile>& transient_files() const;
    // Where a cgroup is that such a file names; empty: that cannot be known here.
    [[nodiscard]] std::filesystem::path cgroup_directory(const std::string& cgroup) const;
    // Removes those that have ended, and reads the policy again if one of them was in force. False: somebody else
    // changes files there, try again soon.
    [[nodiscard]] bool end_transient_files();
    // What reload() would do with the host's files, or with the given policy text, without doing it. `account` asks:
    // how long a text may be and how many may wait depends on it. Busy: too many do.
    void plan(std::optional<std::shared_ptr<const SourceFile>> policy, Account account, Callback<PlanReport> done);
    void check(std::shared_ptr<const SourceFile> policy, Account account, Callback<ReloadOutcome> done);
    // `device` empty: all.
    void reconcile(const std::string& device, Callback<std::vector<DeviceReconcile>> done);
    void verify(const std::string& device, Callback<std::vector<DeviceDrift>> done);

    // Asks the port (a key of devices()) for its counters, on the device's worker thread. Unsupported where it has
    // none.
    void counters(const std::string& device, Callback<CounterReading> done);

    // All queue pairs of the host, whether their programs know of us or not; see HostView.
    [[nodiscard]] HostView& host();

    // Programs that were taken in without their help.
    [[nodiscard]] AdoptionStatus adoption() const;

    // All there is to count, at this moment; ports that do not answer soon are left out.
    void metrics(LoopCallback<void(Metrics)> done);
    [[nodiscard]] const ServiceCounters& tally() const;
    // Closes files of clients on threads that may wait for it.
    [[nodiscard]] const std::shared_ptr<FileCloser>& closer() const;
    // Kept here for the transports, which count in it.
    [[nodiscard]] TransportCounters& transport_counters();

    // Client calls. `peer` is whose connection it came by; a session belongs to the peer that registered it.
    void register_session(PeerId peer, std::shared_ptr<const Identity> identity, RegisterRequest request,
                          Callback<RegisterReply> done);
    void attach(PeerId peer, SessionId session, std::vector<QueuePairRequest> queue_pairs,
                Callback<std::vector<QueuePairResult>> done);
    void detach(PeerId peer, SessionId session, const std::string& device, std::uint32_t number, Callback<void> done);
    // Empty rate: back to the class's own value.
    void set_rate(PeerId peer, SessionId session, const std::string& device, std::uint32_t number,
                  std::optional<RateLimit> rate, Callback<void> done);
    void release(PeerId peer, SessionId session, Callback<void> done);
    // The connection closed or its process ended: every session of it goes.
    void peer_gone(PeerId peer);

    // Token bucket per account for all client calls; LimitReached with a sentence.
    [[nodiscard]] Result<void> admit(Account account);
    // The last one costs as much as this many more; the user pays before the next.
    void charge(Account account, std::size_t requests);

    // One source and one destination; a transport that is asked for several calls this for each pair.
    [[nodiscard]] Result<PathResult> query_path(const Request& request, const Identity& identity) const;
    [[nodiscard]] Result<Explanation> explain(const Request& request, const Identity& identity) const;

    // Those that have answered nothing for as long as anybody waits for them, by key.
    [[nodiscard]] std::vector<std::string> silent_devices() const;
    // The threads of the present devices, by key: for the watchdog.
    [[nodiscard]] std::map<std::string, WorkerPulse> pulses() const;

    // Looks a device up by "name", "name/port", netdev or PCI address. UnknownDevice names those there are.
    [[nodiscard]] Result<std::string> find_device(const std::string& name) const;
    [[nodiscard]] Result<DeviceNames> device_names(const std::string& name) const;

    [[nodiscard]] const Settings& settings() const;
    // Whether devices get elements, by mode and policy; between read_files() and start(), by the policy that was read.
    [[nodiscard]] bool makes_elements() const;
    // Null while no valid policy has been read.
    [[nodiscard]] std::shared_ptr<const Policy> policy() const;
    // The start counts as one.
    [[nodiscard]] const ReloadOutcome& last_reload() const;
    // What could not be written to the daemon's own files, or read from them; by file, each with a sentence.
    [[nodiscard]] const std::map<std::string, std::string>& state_failures() const;
    // Why the fabric file cannot be used; what was known of the fabric before stays. Empty: it can.
    [[nodiscard]] const Diagnostics& fabric_diagnostics() const;
    [[nodiscard]] std::vector<std::string> features() const;
    [[nodiscard]] bool simulated() const;

    [[nodiscard]] std::vector<SessionId> sessions() const;
    [[nodiscard]] std::optional<SessionInfo> session(SessionId id) const;
    // Without its queue pairs.
    [[nodiscard]] std::optional<SessionInfo> session_alone(SessionId id) const;
    // One after the other; empty when `after` was the last one, or the session has ended.
    [[nodiscard]] std::optional<QueuePairName> next_queue_pair(SessionId id,
                                                               const std::optional<QueuePairName>& after) const;
    [[nodiscard]] std::size_t queue_pair_count(SessionId id) const;
    // Of whatever session; empty: it is not attached.
    [[nodiscard]] std::optional<QueuePairResult> queue_pair(const std::string& device, std::uint32_t number) const;
    [[nodiscard]] std::map<std::string, LevelUse> level_uses() const;
    [[nodiscard]] SessionCounts session_counts() const;
    [[nodiscard]] std::vector<std::string> devices() const;    // keys
    [[nodiscard]] std::optional<DeviceStatus> device(const std::string& key) const;

    // Takes every queue pair out and every element down, or closes the device as it is; then calls `done`. New requests
    // are answered with Busy.
    void shutdown(EndOfService how, LoopCallback<void()> done);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}    // namespace rdmaqos
