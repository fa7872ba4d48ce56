// The rules of a policy by what they ask for: what is inside of a Matcher (matcher.h has the picture).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "policy/match/criteria.h"
#include "policy/match/glob_index.h"
#include "policy/match/interval_index.h"
#include "policy/match/resolve.h"
#include "policy/match/rule_sets.h"
#include "policy/model/request.h"

namespace rdmaqos {

class MatchIndex {
public:
    // Both must outlive the index.
    MatchIndex(const Policy& policy, const ResolvedGroups& groups);

    struct Found {
        const MatchRule* rule = nullptr;    // null: none matches
        bool verified = false;              // as in Match, for the rules alone
    };
    [[nodiscard]] Found find(const Request& request, const Identity& identity) const;
    // For adoption.h: of the rules that ask for the path and would match on one path or another, does one that stands
    // before `before` (null: any) lead to adoption into a level other than `same`, or, if that is not null, to none?
    [[nodiscard]] bool perhaps_otherwise(const Request& request, const Identity& identity, const MatchRule* before,
                                         const QosLevel* same) const;
    [[nodiscard]] std::size_t memory() const;

private:
    using Mask = std::uint16_t;    // of kCriteria
    static_assert(kCriteria.size() <= std::numeric_limits<Mask>::digits);

    // Rules that ask for the same criteria, in the policy's order, at neighbouring positions from a multiple of 64 on.
    struct Family {
        Mask asks = 0;
        std::uint32_t first_word = 0;
        std::uint32_t end_word = 0;
        std::vector<std::uint32_t> rules;     // indexes into Policy::rules by position
        std::vector<std::uint32_t> adopts;    // by position: the level it adopts into, by index, or kNowhere
    };
    static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
    // From a number to the rules that accept it.
    struct NumberIndex {
        IntervalIndex<std::uint64_t> intervals;
        std::vector<RuleSets::Set> sets;    // by list of `intervals`
    };
    // From a name to the rules that accept it.
    struct NameIndex {
        GlobIndex globs;
        std::vector<RuleSets::Set> sets;    // by pattern
    };
    // From a device to the rules that select it. One by one: a host has few kinds of devices.
    struct SelectorIndex {
        std::vector<DeviceSelector> selectors;    // that ask for more than a name
        std::vector<RuleSets::Set> sets;          // by selector
    };
    // From port groups to the rules that name them.
    struct EndIndex {
        std::vector<RuleSets::Set> by_group;       // empty: no rule names one
        std::array<RuleSets::Set, 3> by_type{};    // rules with a group that has all ports of a NodeType
        RuleSets::Set everybody = 0;               // ... that has all ports
    };
    // Of one criterion: by its kind, one of them; names and selectors for devices.
    struct Index {
        NumberIndex numbers;
        NameIndex names;
        SelectorIndex selectors;
        EndIndex ends;
    };
    class Builder;
    class Question;

    const Policy& policy_;
    const ResolvedGroups& groups_;
    std::vector<Family> families_;    // by their first rules
    Mask asked_ = 0;                  // by any rule
    RuleSets sets_;
    std::array<Index, kCriteria.size()> indexes_;    // by criterion
    IntervalIndex<std::uint64_t> guids_;             // of port groups, by their index
    IntervalIndex<Key128> gids_;
};

}    // namespace rdmaqos
