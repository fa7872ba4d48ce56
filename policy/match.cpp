#include "policy/match.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/base/units.h"
#include "policy/client.h"
#include "policy/criteria.h"

namespace rdmaqos {
namespace {

constexpr std::size_t kLongestNameQuoted = 64;

std::string quoted(std::string_view name)
{
    const bool cut = name.size() > kLongestNameQuoted;
    return fmt::format("\"{}{}\"", printable(name.substr(0, kLongestNameQuoted)), cut ? "..." : "");
}

Error unknown_level(const Policy& policy, std::string_view name)
{
    std::vector<std::string_view> names;
    for (const auto& level : policy.levels) {
        if (!level.from_ulp) {
            names.emplace_back(level.name);
        }
    }
    std::string message = fmt::format("the policy has no level {}", quoted(name));
    if (const auto near = did_you_mean(name, names)) {
        message += fmt::format("; did you mean \"{}\"?", *near);
    }
    return {ErrorCode::UnknownLevel, 0, std::move(message)};
}

Result<Match> requested_level(const Policy& policy, std::string_view name, const Identity& identity)
{
    const QosLevel* level = policy.find_level(name);
    if (level == nullptr) {
        return fail(unknown_level(policy, name));
    }
    if (auto permission = may_use(*level, identity); !permission.allowed) {
        return fail(ErrorCode::LevelNotAllowed, std::move(permission.why));
    }
    return Match{level, nullptr, LevelSource::Requested, false, "asked for by name"};
}

Match rule_match(const Policy& policy, const Judge& judge, const MatchRule& rule, bool verified)
{
    std::string reasons = judge.reasons(rule);
    if (reasons.empty()) {
        reasons = "it has no criterion and matches everything";
    }
    return {&policy.levels[rule.level], &rule, LevelSource::Rule, verified,
            fmt::format("{}: {}", policy.describe_rule(rule), reasons)};
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

std::optional<Endpoint> parse_endpoint(std::string_view text)
{
    if (text.starts_with("0x") || text.starts_with("0X")) {
        const auto number = parse_number(text);
        return number && *number != 0 ? std::optional<Endpoint>(Guid{*number}) : std::nullopt;
    }
    const auto gid = parse_gid(text);
    return gid && *gid != Gid{} ? std::optional<Endpoint>(*gid) : std::nullopt;
}

std::string to_string(const Endpoint& endpoint)
{
    return std::visit([](const auto& end) { return to_string(end); }, endpoint);
}

Result<Match> match(const Policy& policy, const ResolvedGroups& groups, const Request& request,
                    const Identity& identity)
{
    if (request.level) {
        return requested_level(policy, *request.level, identity);
    }
    const Judge judge(policy, groups, request, identity);
    // Stays true while every rule passed over was ruled out by what the kernel says alone.
    bool verified = true;
    for (const auto& rule : policy.rules) {
        const bool claims_hold = judge.claims_hold(rule);
        if (!claims_hold && !verified) {
            continue;
        }
        const bool open = judge.client_holds(rule) && is_allowed(policy.levels[rule.level], identity);
        if (open) {
            for (const auto criterion : kCriteria) {
                verified = verified && (is_verified(criterion) || !Judge::asks(rule, criterion));
            }
            if (claims_hold) {
                return rule_match(policy, judge, rule, verified);
            }
        }
    }
    if (const Partition* partition = partition_with_level(policy, request, identity)) {
        return Match{&policy.levels[*partition->level], nullptr, LevelSource::Partition, false,
                     fmt::format("default of partition {}: pkey {:#x} (claimed), no rule matched", partition->name,
                                 *request.pkey)};
    }
    const QosLevel& level = policy.levels.at(policy.default_level);
    if (auto permission = may_use(level, identity); !permission.allowed) {
        return fail(
            ErrorCode::LevelNotAllowed,
            fmt::format("no rule matched that you may use, and the default is not open to you: {}", permission.why));
    }
    // A P_Key could have led to a partition's level.
    const bool partition_levels = std::any_of(policy.partitions.begin(), policy.partitions.end(),
                                              [](const Partition& partition) { return partition.level.has_value(); });
    return Match{&level, nullptr, LevelSource::Default, verified && !partition_levels, "the default: no rule matched"};
}

}    // namespace rdmaqos
