// `rdma-qosctl query-path --batch`: the queries of one of OpenSM's compatibility cases.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

struct BatchOptions {
    std::string queries;     // file of queries; "-": stdin; empty: no batch
    std::string policy;      // empty: the host's files
    bool strict = false;     // a native OpenSM policy, rejected where OpenSM rejects it
    std::string topology;    // the fabric: of a compatibility case,
    std::string fabric;      // or a fabric file; neither: the host's
};
// Returns the exit status: 0, or 2 and 3 for a policy that is refused by its text or by its validation.
[[nodiscard]] Result<int> query_path_batch(const Context& context, const BatchOptions& options);

}    // namespace rdmaqos::ctl
