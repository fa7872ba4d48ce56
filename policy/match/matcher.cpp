#include "policy/match/matcher.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/base/units.h"
#include "policy/match/client.h"
#include "policy/match/criteria.h"
#include "policy/match/match_index.h"

namespace rdmaqos {
namespace {

constexpr std::size_t kLongestNameQuoted = 64;
// A suggestion is made while a client waits, and a wrong name costs nothing to send: among more names, none is made.
constexpr std::size_t kMostLevelsCompared = 1000;

std::string quoted(std::string_view name)
{
    return fmt::format("\"{}\"", printable(shortened(name, kLongestNameQuoted)));
}

Error unknown_level(const Policy& policy, std::string_view name)
{
    std::string message = fmt::format("the policy has no level {}", quoted(name));
    if (policy.levels.size() > kMostLevelsCompared) {
        return {ErrorCode::UnknownLevel, 0, std::move(message)};
    }
    std::vector<std::string_view> names;
    for (const auto& level : policy.levels) {
        if (!level.from_ulp) {
            names.emplace_back(level.name);
        }
    }
    if (const auto near = did_you_mean(name, names)) {
        message += fmt::format("; did you mean \"{}\"?", *near);
    }
    return {ErrorCode::UnknownLevel, 0, std::move(message)};
}

Result<Match> requested_level(const Policy& policy, const LevelIndex& levels, std::string_view name,
                              const Identity& identity)
{
    const QosLevel* level = levels.find(name);
    if (level == nullptr) {
        level = levels.find_renamed(name);
    }
    if (level == nullptr) {
        return fail(unknown_level(policy, name));
    }
    if (auto permission = may_use(*level, identity); !permission.allowed) {
        return fail(ErrorCode::LevelNotAllowed, std::move(permission.why));
    }
    return Match{level, nullptr, nullptr, LevelSource::Requested, false};
}

// The first partition of this P_Key with a level the caller may use.
const Partition* partition_with_level(const Policy& policy, const Request& request, const Identity& identity)
{
    if (!request.pkey) {
        return nullptr;
    }
    for (const auto& partition : policy.partitions) {
        if (partition.level && partition.pkey == partition_of(*request.pkey) &&
            is_allowed(policy.levels[*partition.level], identity)) {
            return &partition;
        }
    }
    return nullptr;
}

}    // namespace

Matcher::Matcher(const Policy& policy, ResolvedGroups groups)
    : policy_(&policy), groups_(std::move(groups)), levels_(policy),
      index_(std::make_unique<const MatchIndex>(policy, groups_))
{
}

Matcher::~Matcher() = default;

Result<Match> Matcher::match(const Request& request, const Identity& identity) const
{
    if (request.level) {
        return requested_level(*policy_, levels_, *request.level, identity);
    }
    const auto [rule, verified] = index_->find(request, identity);
    if (rule != nullptr) {
        return Match{&policy_->levels[rule->level], rule, nullptr, LevelSource::Rule, verified};
    }
    if (const Partition* partition = partition_with_level(*policy_, request, identity)) {
        return Match{&policy_->levels[*partition->level], nullptr, partition, LevelSource::Partition,
                     verified && request.of_kernel};
    }
    const QosLevel& level = policy_->levels.at(policy_->default_level);
    if (auto permission = may_use(level, identity); !permission.allowed) {
        return fail(
            ErrorCode::LevelNotAllowed,
            fmt::format("no rule that you may use matched, and you may not use the default: {}", permission.why));
    }
    // A P_Key could have led to a partition's level.
    const bool partition_levels = std::any_of(policy_->partitions.begin(), policy_->partitions.end(),
                                              [](const Partition& partition) { return partition.level.has_value(); });
    return Match{&level, nullptr, nullptr, LevelSource::Default, verified && (!partition_levels || request.of_kernel)};
}

std::string Matcher::why(const Match& match, const Request& request, const Identity& identity) const
{
    switch (match.source) {
    case LevelSource::Requested:
        return !request.level || equals_ignoring_case(match.level->name, *request.level)
                   ? "requested by name"
                   : fmt::format("requested by its former name {}", quoted(std::string_view(*request.level)));
    case LevelSource::Rule: {
        const std::string reasons = Evaluator(*policy_, groups_, request, identity).reasons(*match.rule);
        return fmt::format("{}: {}", policy_->describe_rule(*match.rule),
                           reasons.empty() ? "it has no criterion and matches everything" : reasons);
    }
    case LevelSource::Partition:
        return fmt::format("default of partition {}: pkey {:#x} ({}), no rule matched", match.partition->name,
                           request.pkey.value_or(match.partition->pkey),
                           to_string(request.of_kernel ? Trust::Verified : Trust::Claimed));
    case LevelSource::Default:
        return "the default: no rule matched";
    }
    return {};
}

std::size_t Matcher::memory() const
{
    return index_->memory();
}

}    // namespace rdmaqos
