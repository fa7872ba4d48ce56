// Answers without a daemon: of a policy from files, for devices of a profile or a simulation file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/api/policy.h"
#include "lib/base/result.h"
#include "policy/explain/explain.h"
#include "policy/match/matcher.h"
#include "policy/model/fabric.h"
#include "policy/model/identity.h"
#include "policy/model/policy.h"
#include "tools/rdma-qosctl/offline/targets.h"
#include "tools/rdma-qosctl/request/request_options.h"

namespace rdmaqos::ctl {

// Everything an offline answer needs.
struct OfflineWorld {
    std::shared_ptr<const Policy> policy;
    Fabric fabric;
    std::vector<Target> targets;
    std::shared_ptr<const Matcher> matcher;    // of the policy
    Identity identity;
};
[[nodiscard]] Result<OfflineWorld> load_world(const std::string& policy_file, const std::string& root,
                                              const std::string& simulation, const IdentityOptions& identity);

// One for each pair of ends, with the device.
[[nodiscard]] Result<std::vector<Request>> requests_of(const OfflineWorld& world, const RequestOptions& options);

// For one pair of ends.
[[nodiscard]] Result<Explanation> explain_offline(const OfflineWorld& world, const RequestOptions& options);
// One answer for each pair of ends, which may be why it has no path; an error if none has one. Keys as of QueryPath.
[[nodiscard]] Result<std::vector<api::PathAnswer>> query_path_offline(const OfflineWorld& world,
                                                                      const RequestOptions& options);

}    // namespace rdmaqos::ctl
