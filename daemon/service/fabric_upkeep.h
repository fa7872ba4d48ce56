// The fabric file, read again while the daemon runs.
#pragma once

#include <filesystem>

#include "daemon/service/context.h"
#include "daemon/service/policy_changes.h"
#include "daemon/service/policy_in_force.h"

namespace rdmaqos {

class FabricUpkeep {
public:
    // All must outlive it.
    FabricUpkeep(ServiceContext& context, PolicyInForce& policy, PolicyChanges& changes)
        : context_(context), policy_(policy), changes_(changes)
    {
    }

    // Service::reread_fabric(), Service::look_at_fabric()
    void reread(LoopCallback<void()> done);
    void look(LoopCallback<void()> done);

private:
    void finish(const FabricFile& file, LoopCallback<void()> done);
    // True, and everybody is told: they differ from the last ones.
    bool complain(const Diagnostics& diagnostics);

    ServiceContext& context_;
    PolicyInForce& policy_;
    PolicyChanges& changes_;
};

}    // namespace rdmaqos
