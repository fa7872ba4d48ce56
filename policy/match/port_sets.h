// The end points that lists of port groups take in, and whether one list takes in all that another one does.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lib/base/interval_set.h"
#include "policy/match/effort.h"
#include "policy/match/gid_range.h"
#include "policy/match/resolve.h"
#include "policy/model/request.h"

namespace rdmaqos {

// All members of some groups, node types as the ports that are known to have them.
struct PortSet {
    bool has_all = false;       // every end point, also a LID that is not known
    bool is_complete = true;    // no group has members that are not known yet
    IntervalSet guids;
    std::vector<GidRange> gids;    // sorted, disjoint

    [[nodiscard]] bool is_empty() const { return !has_all && guids.empty() && gids.empty(); }
};

class PortSets {
public:
    // By indexes into ResolvedGroups::groups, sorted.
    using Groups = std::vector<std::size_t>;

    // `groups` must outlive it.
    explicit PortSets(const ResolvedGroups& groups) : groups_(groups) {}

    // Kept: the reference stays valid.
    [[nodiscard]] const PortSet& members_of(const Groups& groups);
    // Every end point that is in a group of `narrow` is in one of `wide`, as the groups are resolved now. False: it is
    // not, or `narrow` may get members that are not known yet, or the effort is spent.
    [[nodiscard]] bool surely_include(const Groups& wide, const Groups& narrow, Effort& effort);
    // One end point in them; `last`: another one, if there is another. Empty: there is none.
    [[nodiscard]] std::optional<Endpoint> example_of(const Groups& groups, bool last);

private:
    [[nodiscard]] PortSet make(const Groups& groups) const;

    const ResolvedGroups& groups_;
    std::map<Groups, PortSet> sets_;
    std::map<std::pair<const PortSet*, const PortSet*>, bool> answers_;    // wide, narrow
};

}    // namespace rdmaqos
