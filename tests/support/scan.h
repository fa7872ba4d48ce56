// The plain way to find a level: every rule in order, every criterion of it. Slow and easy to believe; what a Matcher
// says is compared with it.
#pragma once

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "policy/match/client.h"
#include "policy/match/criteria.h"
#include "policy/match/matcher.h"
#include "policy/match/resolve.h"
#include "policy/model/request.h"

namespace rdmaqos::test {

// The messages of errors are left empty.
inline Result<Match> scan(const Policy& policy, const ResolvedGroups& groups, const Request& request,
                          const Identity& identity)
{
    if (request.level) {
        const QosLevel* level = policy.find_level(*request.level);
        if (level == nullptr) {
            return fail(ErrorCode::UnknownLevel, "");
        }
        if (!is_allowed(*level, identity)) {
            return fail(ErrorCode::LevelNotAllowed, "");
        }
        return Match{level, nullptr, nullptr, LevelSource::Requested, false};
    }
    const Judge judge(policy, groups, request, identity);
    // Of the criteria that the kernel vouches for, or of those that the client claims.
    const auto all_hold = [&](const MatchRule& rule, bool verified) {
        return std::all_of(kCriteria.begin(), kCriteria.end(), [&](Criterion criterion) {
            return is_verified(criterion) != verified || judge.holds(rule, criterion);
        });
    };
    bool verified = true;
    for (const auto& rule : policy.rules) {
        const QosLevel& level = policy.levels[rule.level];
        if (!all_hold(rule, true) || !is_allowed(level, identity)) {
            continue;
        }
        verified = verified && std::none_of(kCriteria.begin(), kCriteria.end(), [&](Criterion criterion) {
                       return !is_verified(criterion) && Judge::asks(rule, criterion);
                   });
        if (all_hold(rule, false)) {
            return Match{&level, &rule, nullptr, LevelSource::Rule, verified};
        }
    }
    for (const auto& partition : policy.partitions) {
        if (partition.level && request.pkey && partition.pkey == partition_of(*request.pkey) &&
            is_allowed(policy.levels[*partition.level], identity)) {
            return Match{&policy.levels[*partition.level], nullptr, &partition, LevelSource::Partition, false};
        }
    }
    const QosLevel& level = policy.levels.at(policy.default_level);
    if (!is_allowed(level, identity)) {
        return fail(ErrorCode::LevelNotAllowed, "");
    }
    const bool by_partition = std::any_of(policy.partitions.begin(), policy.partitions.end(),
                                          [](const Partition& partition) { return partition.level.has_value(); });
    return Match{&level, nullptr, nullptr, LevelSource::Default, verified && !by_partition};
}

// All of an answer but the words of an error.
inline std::string in_full(const Result<Match>& answer)
{
    if (!answer) {
        return fmt::format("error {}", static_cast<int>(answer.error().code));
    }
    return fmt::format("{} by {}, rule {}, partition {}, {}", answer->level->name, static_cast<int>(answer->source),
                       answer->rule != nullptr ? answer->rule->number : 0,
                       answer->partition != nullptr ? answer->partition->name : "none",
                       answer->verified ? "verified" : "claimed");
}

}    // namespace rdmaqos::test
