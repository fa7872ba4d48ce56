// Trying a policy: it is put in force in memory alone, and goes back to the files when its time is over, unless it is
// confirmed. docs/adr/0023-trials.md says why it is done so.
#pragma once

#include <memory>
#include <string>

#include "daemon/loop/callback.h"
#include "daemon/model/trial.h"
#include "daemon/service/context.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/reloads.h"
#include "daemon/service/trial_in_force.h"

namespace rdmaqos {

class Trials {
public:
    // All must outlive it.
    Trials(ServiceContext& context, const PolicyInForce& policy, TrialInForce& trial, Reloads& reloads)
        : context_(context), policy_(policy), trial_(trial), reloads_(reloads)
    {
    }

    // Reads all files again with this text in the place of kTriedFile and puts the policy in force as reload() does, in
    // memory alone. When the time is over, the files are what is in force, as after reload(), or, if they cannot be
    // used, what was in force before. Another one takes the place of the first. Errors: InvalidArgument for a timeout
    // or text that makes no sense, InvalidPolicy if there is no policy to go back to, Busy.
    void begin(TrialRequest request, Callback<TrialOutcome> done);
    // Ends the trial of this revision if the files say the same by now: what is in force stays, without a write to any
    // device. Errors: InvalidArgument if it is not tried or the files differ, which the error names; InvalidPolicy if
    // they cannot be used.
    void confirm(const std::string& revision, Callback<void> done);
    // Goes back as when the time is over. Not accepted: the files cannot be used, and what was in force before the
    // trial is again. InvalidArgument: there is no trial.
    void revert(Callback<ReloadOutcome> done);

private:
    [[nodiscard]] Result<void> may_begin(const TrialRequest& request) const;
    // `number`: of the trial that was to be confirmed when the files were read.
    [[nodiscard]] Result<void> compare(const Loaded& files, std::uint64_t number) const;

    ServiceContext& context_;
    const PolicyInForce& policy_;
    TrialInForce& trial_;
    Reloads& reloads_;
};

}    // namespace rdmaqos
