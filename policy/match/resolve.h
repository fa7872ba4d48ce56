// What the fabric file and the ports of this host say for a policy: the members of its port groups, and whose a LID is.
// The rules are OpenSM's (which looks at the fabric itself), with two differences: GUIDs stay the intervals they were
// written as, whether or not somebody knows such a port, and what cannot be looked up is reported rather than refused.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/interval_set.h"
#include "lib/base/net.h"
#include "policy/model/fabric.h"
#include "policy/model/lid_table.h"
#include "policy/model/local_port.h"
#include "policy/model/policy.h"

namespace rdmaqos {

// A port group with its members looked up.
struct ResolvedGroup {
    IntervalSet guids;
    std::vector<GidPrefix> gids;
    NodeTypes node_types;

    friend bool operator==(const ResolvedGroup&, const ResolvedGroup&) = default;
};

struct ResolvedGroups {
    std::vector<ResolvedGroup> groups;                    // parallel to Policy::groups
    std::vector<std::pair<Guid, NodeType>> node_types;    // of known ports, sorted by GUID
    LidTable lids;
    // Of groups that may get members which are not known now: some of those they name are not, or they are looked for
    // among the ports of this host and none is known. Ascending.
    std::vector<std::size_t> incomplete;
    std::vector<std::string> unresolved;    // "port-group storage: partition Part7 is not in the fabric file"

    friend bool operator==(const ResolvedGroups&, const ResolvedGroups&) = default;
};

[[nodiscard]] ResolvedGroups resolve(const Policy& policy, const Fabric& fabric, const std::vector<LocalPort>& local);

}    // namespace rdmaqos
