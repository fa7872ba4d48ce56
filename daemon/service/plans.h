// What a reload would do, and to whom. Nothing is changed.
#pragma once

#include <memory>
#include <optional>

#include "daemon/loop/callback.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/policy_changes.h"
#include "daemon/service/policy_in_force.h"

namespace rdmaqos {

// Of a policy that somebody brings, who may not manage unless polkit says so: it is read on a thread that a reload has
// to wait for. LimitReached, with a sentence.
[[nodiscard]] Result<void> may_bring(Account account, const SourceFile& text);

class Plans {
public:
    // All must outlive it.
    Plans(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices,
          const PolicyChanges& changes, const ManagedPorts& ports)
        : context_(context), policy_(policy), devices_(devices), changes_(changes), ports_(ports)
    {
    }

    // What a reload would do with the host's files, or with the given policy text, without doing it. `account` asks:
    // how long a text may be and how many may wait depends on it. Busy: too many do.
    void plan(std::optional<std::shared_ptr<const SourceFile>> policy, Account account, Callback<PlanReport> done);
    void check(std::shared_ptr<const SourceFile> policy, Account account, Callback<ReloadOutcome> done);

private:
    // May this user have a policy read now, the host's (null) or this one?
    [[nodiscard]] Result<void> may_read(Account account, const SourceFile* text) const;
    // What the policy that is tried would mean for their ports.
    void plan_ports(const Tried& tried, PlanReport& report) const;
    void ask_devices(PlanDraft draft, Callback<PlanReport> done);
    void plan_from_memory(DevicePlan& plan, const DesiredState& desired) const;

    ServiceContext& context_;
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
    const PolicyChanges& changes_;
    const ManagedPorts& ports_;
};

}    // namespace rdmaqos
