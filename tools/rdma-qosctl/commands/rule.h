// `rdma-qosctl rule`: rules that end by themselves.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/offline/transient_rule.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

[[nodiscard]] Result<ExitStatus> add_rule(const Context& context, const RuleOptions& options);

struct RuleRemoval {
    std::string name;    // one of the two
    std::string owner;
};
[[nodiscard]] Result<ExitStatus> remove_rules(const Context& context, const RuleRemoval& removal);

[[nodiscard]] Result<ExitStatus> list_rules(const Context& context);

}    // namespace rdmaqos::ctl
