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

// Of the criteria that the kernel vouches for, or of those that the client claims.
inline bool all_hold(const Judge& judge, const MatchRule& rule, Trust trust)
{
    return std::ranges::all_of(kCriteria, [&](const Criterion& criterion) {
        return criterion.trust != trust || judge.holds(rule, criterion);
    });
}

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
    bool verified = true;
    for (const auto& rule : policy.rules) {
        const QosLevel& level = policy.levels[rule.level];
        if (!all_hold(judge, rule, Trust::Verified) || !is_allowed(level, identity)) {
            continue;
        }
        verified = verified && std::ranges::none_of(kCriteria, [&](const Criterion& criterion) {
                       return criterion.trust == Trust::Claimed && Judge::asks(rule, criterion);
                   });
        if (all_hold(judge, rule, Trust::Claimed)) {
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
