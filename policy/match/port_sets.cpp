#include "policy/match/port_sets.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "policy/match/interval_algebra.h"
#include "policy/match/path_end.h"

namespace rdmaqos {
namespace {

constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max();
// The lower halves of IPv4-mapped GIDs (::ffff:a.b.c.d), which are no GUIDs.
constexpr Interval kIpv4{0xFFFF'0000'0000, 0xFFFF'FFFF'FFFF};

std::vector<GidRange> disjoint(std::vector<GidRange> ranges)
{
    std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<GidRange> merged;
    for (const auto& range : ranges) {
        const auto behind = merged.empty() ? std::nullopt : successor(merged.back().last);
        if (!merged.empty() && (!behind || range.first <= *behind)) {
            merged.back().last = std::max(merged.back().last, range.last);
        } else {
            merged.push_back(range);
        }
    }
    return merged;
}

// Whether the ports of all these GIDs of one subnet are members by their GUID.
bool are_by_guid(const IntervalSet& guids, std::uint64_t subnet, Interval interface_ids)
{
    const bool has_ipv4 = subnet == 0 && interface_ids.first <= kIpv4.last && interface_ids.last >= kIpv4.first;
    return !has_ipv4 && includes(guids, interface_ids);
}

bool are_by_guid(const IntervalSet& guids, const GidRange& gids)
{
    const auto& [first, last] = gids;
    if (first.high == last.high) {
        return are_by_guid(guids, first.high, {first.low, last.low});
    }
    return are_by_guid(guids, first.high, {first.low, kHighest}) && are_by_guid(guids, last.high, {0, last.low}) &&
           (last.high - first.high < 2 || are_by_guid(guids, first.high + 1, {0, kHighest}));
}

// Of `gids`, those that are not in `wide.gids` are members by their GUID.
bool include(const PortSet& wide, GidRange gids)
{
    for (const auto& range : wide.gids) {
        if (range.last < gids.first) {
            continue;
        }
        if (gids.last < range.first) {
            break;
        }
        if (gids.first < range.first) {
            const Key128 before = range.first.low > 0 ? Key128{range.first.high, range.first.low - 1}
                                                      : Key128{range.first.high - 1, kHighest};
            if (!are_by_guid(wide.guids, {gids.first, before})) {
                return false;
            }
        }
        const auto behind = successor(range.last);
        if (!behind || gids.last < *behind) {
            return true;
        }
        gids.first = *behind;
    }
    return are_by_guid(wide.guids, gids);
}

bool include(const PortSet& wide, const PortSet& narrow)
{
    if (wide.has_all || narrow.has_all) {
        return wide.has_all;
    }
    return includes(wide.guids, narrow.guids) &&
           std::ranges::all_of(narrow.gids, [&](const GidRange& gids) { return include(wide, gids); });
}

}    // namespace

PortSet PortSets::make(const Groups& groups) const
{
    PortSet set;
    std::vector<Interval> guids;
    for (const std::size_t index : groups) {
        const ResolvedGroup& group = groups_.groups.at(index);
        set.has_all |= includes_all(group.node_types);
        set.is_complete &= !std::ranges::binary_search(groups_.incomplete, index);
        guids.insert(guids.end(), group.guids.intervals().begin(), group.guids.intervals().end());
        std::ranges::transform(group.gids, std::back_inserter(set.gids), range_of);
        if (!group.node_types.none()) {
            for (const auto& [guid, type] : groups_.node_types) {
                if (has_type(group.node_types, type)) {
                    guids.push_back({guid.value, guid.value});
                }
            }
        }
    }
    set.guids = IntervalSet(std::move(guids));
    set.gids = disjoint(std::move(set.gids));
    return set;
}

const PortSet& PortSets::members_of(const Groups& groups)
{
    const auto known = sets_.find(groups);
    return known != sets_.end() ? known->second : sets_.emplace(groups, make(groups)).first->second;
}

bool PortSets::surely_include(const Groups& wide, const Groups& narrow, Effort& effort)
{
    if (std::ranges::includes(wide, narrow)) {
        return true;
    }
    const PortSet& all = members_of(wide);
    const PortSet& some = members_of(narrow);
    if (!some.is_complete && !all.has_all) {
        return false;
    }
    const auto known = answers_.find({&all, &some});
    if (known != answers_.end()) {
        return known->second;
    }
    if (!effort.spend(1 + some.guids.intervals().size() + some.gids.size() * (1 + all.gids.size()))) {
        return false;
    }
    return answers_.emplace(std::pair(&all, &some), include(all, some)).first->second;
}

std::optional<Endpoint> PortSets::example_of(const Groups& groups, bool last)
{
    const PortSet& set = members_of(groups);
    if (set.has_all) {
        for (std::uint16_t lid = kHighestLid; lid > 0; --lid) {
            if (!groups_.lids.find(Lid{lid})) {
                return Lid{lid};
            }
        }
    }
    if (!set.guids.empty()) {
        const auto& all = set.guids.intervals();
        return Guid{last ? all.back().last : all.front().first};
    }
    if (!set.gids.empty()) {
        return gid_of(last ? set.gids.back().last : set.gids.front().first);
    }
    return std::nullopt;
}

}    // namespace rdmaqos
