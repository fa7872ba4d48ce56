// Reading the host's files: at the start, and each time somebody asks for it, one after another. A policy that is tried
// (trial_in_force.h) stands for one of them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/device/schedule_spec.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/managed_ports.h"
#include "daemon/service/policy_changes.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/tally.h"
#include "daemon/service/trial_in_force.h"

namespace rdmaqos {

class Reloads {
public:
    // All must outlive it.
    Reloads(ServiceContext& context, PolicyInForce& policy, DeviceTable& devices, SessionTable& sessions,
            PolicyChanges& changes, ManagedPorts& ports, Tally& tally, TrialInForce& trial)
        : context_(context), policy_(policy), devices_(devices), sessions_(sessions), changes_(changes), ports_(ports),
          tally_(tally), trial_(trial)
    {
    }

    // Reads settings, fabric and policy for the first time, on the calling thread, for those who look for devices: the
    // settings and makes_elements() are known then. start() does it if nobody has.
    void read_files();
    // For Service::start().
    void start(LoopCallback<void(ReloadOutcome)> done);
    // The one in force; between the two, the one that start() will try. Null: there is none.
    [[nodiscard]] std::shared_ptr<const Policy> policy_to_run() const;
    // Whether devices get elements, by mode and by that policy.
    [[nodiscard]] bool makes_elements() const
    {
        return rdmaqos::makes_elements(policy_to_run().get(), policy_.settings());
    }
    // Reads all files again, off the main loop; accepted only if there is no error in them and no device makes it
    // refuse the policy (policy/model/verdict.h). Otherwise everything stays as it is. Concurrent calls are served one
    // after another. `done` when every device has the new policy and has answered; one that does not answer is named
    // in `unanswered`, and takes the policy when it does.
    // A trial that is in force ends with it.
    void reload(LoopCallback<void(ReloadOutcome)> done);
    // Reads only the transient files again, and merges them into what is in force: the text of a trial, and the other
    // files as they were when they were read. What became of those since takes no effect and refuses nothing. As
    // reload() while no policy is in force.
    void refresh(LoopCallback<void(ReloadOutcome)> done);

    // One is waiting or being served: there is none else meanwhile.
    [[nodiscard]] bool is_beginning_trial() const;
    void begin_trial(TrialRequest request, LoopCallback<void(ReloadOutcome)> done);
    // From the trial of this number to the files; nothing if it has ended before it is this one's turn. If they cannot
    // be used, which the outcome then says, the policy from before the trial is put back.
    void go_back(std::uint64_t trial, TrialStep why, LoopCallback<void(ReloadOutcome)> done);
    // As the last good one. `done`: it is on the disk, or cannot be saved, which is in the log.
    void save(const Policy& policy, LoopCallback<void()> done);

private:
    enum class Kind : std::uint8_t { Start, Reload, Refresh, Begin, GoBack };
    struct Pending {
        Kind kind = Kind::Reload;
        std::vector<LoopCallback<void(ReloadOutcome)>> waiting;
        TrialRequest request{};     // of Begin
        std::uint64_t trial = 0;    // of GoBack, with `why`
        TrialStep why = TrialStep::TimedOut;
    };
    // Null: there is none.
    [[nodiscard]] std::shared_ptr<const Policy> last_good(const Loaded& loaded) const;
    [[nodiscard]] std::optional<Staged> try_first(const std::shared_ptr<const Policy>& policy, const Loaded& loaded,
                                                  const Scene& scene) const;
    // `is_newest`: else it is the last good one, in its place.
    void run_first(Staged staged, bool is_newest, Gathering::Done done);
    void ask(Pending asked);
    void next();
    void test_devices(Result<std::shared_ptr<Tried>> tried);
    void finish(Result<std::shared_ptr<Tried>> tried);
    void take(const Result<std::shared_ptr<Tried>>& tried);
    void commit(Staged staged, const Tried& tried, ReloadOutcome outcome);
    void refuse(const ReloadOutcome& outcome);
    void change_trial(const Tried& tried);
    void put_back(ReloadOutcome outcome);
    void note_saved(const Result<void>& saved, const std::string& revision);
    // What the devices said of the policy; `missing` have not answered.
    void add_answers(Gathering::Missing missing, ReloadOutcome& outcome) const;
    [[nodiscard]] std::vector<DeviceFailure> failures_but_of(const Gathering::Missing& missing) const;
    [[nodiscard]] std::vector<JudgedFinding> findings_of_ports_but_of(const Gathering::Missing& missing) const;
    void answer(const ReloadOutcome& outcome);
    void log_outcome(const ReloadOutcome& outcome) const;
    // Of the one that is served, after its outcome was logged.
    void end_request(const ReloadOutcome& outcome);
    void set_last_reload(const ReloadOutcome& outcome);

    ServiceContext& context_;
    PolicyInForce& policy_;
    DeviceTable& devices_;
    SessionTable& sessions_;
    PolicyChanges& changes_;
    ManagedPorts& ports_;
    Tally& tally_;
    TrialInForce& trial_;
    // What was read first, until start() has tried it.
    struct FirstReading {
        Loaded loaded;
        std::shared_ptr<const Policy> last_good;
    };
    std::optional<FirstReading> first_;
    std::deque<Pending> pending_;    // the first is being served
    TimePoint started_{};
};

}    // namespace rdmaqos
