// `rdma-qosctl explain` and `query-path`.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"
#include "tools/rdma-qosctl/request/identity_options.h"
#include "tools/rdma-qosctl/request/request_options.h"

namespace rdmaqos::ctl {

struct ExplainOptions {
    RequestOptions request;
    IdentityOptions identity;
    std::string policy;          // empty: the daemon's, or the host's files
    std::string devices_file;    // of simulated devices
    bool offline = false;
    std::string broadcast;    // query-path: compare with the broadcast group of this partition
};
[[nodiscard]] Result<ExitStatus> explain_request(const Context& context, const ExplainOptions& options);
[[nodiscard]] Result<ExitStatus> query_path(const Context& context, const ExplainOptions& options);

}    // namespace rdmaqos::ctl
