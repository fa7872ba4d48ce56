#include "policy/explain/explain.h"

#include <fmt/format.h>

#include "policy/match/client.h"
#include "policy/match/criteria.h"
#include "policy/path/path_explain.h"

namespace rdmaqos {
namespace {

std::string refusal(const QosLevel& level, const Identity& identity)
{
    return may_use(level, identity).why;
}

RuleResult explain_rule(const Policy& policy, const Evaluator& evaluator, const MatchRule& rule,
                        const Identity& identity)
{
    RuleResult result;
    result.rule = &rule;
    result.matched = true;
    for (const Criterion& criterion : kCriteria) {
        if (!Evaluator::asks(rule, criterion)) {
            continue;
        }
        const bool holds = evaluator.holds(rule, criterion);
        result.matched = result.matched && holds;
        result.criteria.push_back({std::string(criterion.key), evaluator.asked(rule, criterion),
                                   evaluator.has(criterion), holds, criterion.trust});
    }
    if (result.matched) {
        result.refused = refusal(policy.levels[rule.level], identity);
    }
    return result;
}

std::vector<RuleResult> explain_rules(const Policy& policy, const Evaluator& evaluator, const Identity& identity)
{
    std::vector<RuleResult> results;
    for (const auto& rule : policy.rules) {
        results.push_back(explain_rule(policy, evaluator, rule, identity));
        if (results.back().matched && results.back().refused.empty()) {
            break;
        }
    }
    return results;
}

std::vector<FallbackResult> explain_fallbacks(const Policy& policy, const Request& request, const Identity& identity)
{
    std::vector<FallbackResult> results;
    const auto add = [&](LevelSource source, std::size_t index, std::string name) {
        const QosLevel& level = policy.levels.at(index);
        std::string refused = refusal(level, identity);
        const bool taken = refused.empty();
        results.push_back({source, &level, std::move(name), taken, std::move(refused)});
        return taken;
    };
    for (const auto& partition : policy.partitions) {
        if (partition.level && request.pkey && partition.pkey == partition_of(*request.pkey) &&
            add(LevelSource::Partition, *partition.level, fmt::format("partition {}", partition.name))) {
            return results;
        }
    }
    add(LevelSource::Default, policy.default_level, "default");
    return results;
}

}    // namespace

Explanation explain(const Matcher& matcher, const Request& request, const Identity& identity, const PathLimits& limits)
{
    const Policy& policy = matcher.policy();
    Explanation result;
    result.request = request;
    result.identity = identity;
    auto matched = matcher.match(request, identity);
    if (!request.level) {
        result.rules = explain_rules(policy, Evaluator(policy, matcher.groups(), request, identity), identity);
        if (!matched || matched->source != LevelSource::Rule) {
            result.fallbacks = explain_fallbacks(policy, request, identity);
        }
    }
    if (!matched) {
        result.error = std::move(matched).error();
        return result;
    }
    auto answer = apply_level(*matched->level, request, limits);
    if (answer) {
        result.answer = *answer;
        result.reasons = explain_answer(*matched->level, request, limits, *answer);
    } else {
        result.answer_error = std::move(answer).error();
    }
    result.match = *matched;
    result.why = matcher.why(*matched, request, identity);
    return result;
}

}    // namespace rdmaqos
