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

    // Where the fabric file is.
    [[nodiscard]] std::filesystem::path file() const { return fabric_path(context_.options.root); }
    // Reads it again, off the main loop, and looks up the members of port groups once more: sessions and queue pairs
    // get the levels they then belong in, and devices get what changed. A broken file changes nothing but
    // PolicyInForce::fabric_diagnostics; one that is gone is an empty fabric. `done` when every device has answered.
    void reread(LoopCallback<void()> done);
    // The same, unless the file is the one that was read last.
    void look(LoopCallback<void()> done);

private:
    void finish(const FabricFile& file, LoopCallback<void()> done);
    // True: they differ from the last ones, and observers are notified.
    bool publish_diagnostics(const Diagnostics& diagnostics);

    ServiceContext& context_;
    PolicyInForce& policy_;
    PolicyChanges& changes_;
};

}    // namespace rdmaqos
