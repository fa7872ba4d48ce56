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

    // Service::try_policy(), Service::confirm_trial(), Service::revert_trial()
    void begin(TrialRequest request, Callback<TrialOutcome> done);
    void confirm(const std::string& revision, Callback<void> done);
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
