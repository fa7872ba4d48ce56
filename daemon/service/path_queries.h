// Answers about paths that change nothing: which level a request gets, with which values, and why.
//
// Thread: the main loop.
#pragma once

#include "daemon/model/path_result.h"
#include "daemon/service/device_table.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/session_calls.h"
#include "policy/explain/explain.h"

namespace rdmaqos {

class PathQueries {
public:
    // All must outlive it.
    PathQueries(const PolicyInForce& policy, const DeviceTable& devices, const SessionCalls& calls)
        : policy_(policy), devices_(devices), calls_(calls)
    {
    }

    // One source and one destination; a transport that is asked for several calls this for each pair.
    [[nodiscard]] Result<PathResult> query(const Request& request, const Identity& identity) const;
    [[nodiscard]] Result<Explanation> explain(const Request& request, const Identity& identity) const;

private:
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
    const SessionCalls& calls_;
};

}    // namespace rdmaqos
