// How many queue pairs of each level carry its DSCP, on Ethernet ports, when a caller asks.
//
// Thread: the main loop.
#pragma once

#include <memory>

#include "daemon/model/level_marks.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/policy_in_force.h"
#include "lib/base/loop_callback.h"

namespace rdmaqos {

class Marks {
public:
    // All must outlive it.
    Marks(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices)
        : context_(context), policy_(policy), devices_(devices)
    {
    }

    // Waits for devices no longer than this; of one that has not answered then, what was known before.
    void read(Duration patience, LoopCallback<void(HostMarks)> done);
    // What is known now.
    [[nodiscard]] HostMarks known() const;

private:
    [[nodiscard]] DscpOfLevels levels() const;

    ServiceContext& context_;
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
};

}    // namespace rdmaqos
