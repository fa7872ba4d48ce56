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

// All criteria, in their order up to the first that does not hold.
inline bool all_hold(const Evaluator& evaluator, const MatchRule& rule)
{
    const auto holds = [&](const Criterion& criterion) { return evaluator.holds(rule, criterion); };
    const auto clients = std::ranges::subrange(kCriteria.begin() + kRequestCriteria.size(), kCriteria.end());
    return std::ranges::all_of(kRequestCriteria, holds) && (!rule.client || std::ranges::all_of(clients, holds));
}

// What the kernel vouches for holds, and the rest is a claim: whoever gets here, or further, gets there by claims.
inline bool rests_on_claims(const Evaluator& evaluator, const MatchRule& rule)
{
    return std::ranges::any_of(kCriteria,
                               [&](const Criterion& criterion) {
                                   return criterion.trust == Trust::Claimed && Evaluator::asks(rule, criterion);
                               }) &&
           std::ranges::all_of(kCriteria, [&](const Criterion& criterion) {
               return criterion.trust == Trust::Claimed || evaluator.holds(rule, criterion);
           });
}

// The messages of errors are left empty.
inline Result<Match> scan(const Policy& policy, const ResolvedGroups& groups, const Request& request,
                          const Identity& identity)
{
    if (request.level) {
        const QosLevel* level = policy.find_level(*request.level);
        level = level != nullptr ? level : policy.find_renamed_level(*request.level);
        if (level == nullptr) {
            return fail(ErrorCode::UnknownLevel, "");
        }
        if (!is_allowed(*level, identity)) {
            return fail(ErrorCode::LevelNotAllowed, "");
        }
        return Match{level, nullptr, nullptr, LevelSource::Requested, false};
    }
    const Evaluator evaluator(policy, groups, request, identity);
    bool verified = true;
    for (const auto& rule : policy.rules) {
        const QosLevel& level = policy.levels[rule.level];
        verified = verified && !(rests_on_claims(evaluator, rule) && is_allowed(level, identity));
        if (all_hold(evaluator, rule) && is_allowed(level, identity)) {
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
