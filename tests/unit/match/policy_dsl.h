// Policies, fabrics and requests written down in C++, without a reader.
//
//     TestPolicy policy;                                       // has DEFAULT, SL 0
//     policy.level("rpc", [](auto& level) { level.sl = 3; });
//     policy.rule("rpc", [](auto& rule) { rule.service_id = numbers({{0x10, 0x1f}}); });
//     auto result = policy.ask(request);
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "policy/explain/explain.h"
#include "policy/match/matcher.h"
#include "tests/support/scan.h"

namespace rdmaqos::test {

inline IntervalSet numbers(std::vector<Interval> intervals)
{
    return IntervalSet(std::move(intervals));
}

// By its number in path records.
constexpr IbRate rate(std::uint8_t number)
{
    return static_cast<IbRate>(number);
}

inline IntervalSet number(std::uint64_t value)
{
    return IntervalSet({{value, value}});
}

inline Gid gid(std::string_view text)
{
    return parse_gid(text).value();
}

inline GidPrefix prefix(std::string_view text)
{
    return parse_gid_prefix(text).value();
}

inline std::vector<DeviceSelector> devices_named(const std::vector<std::string>& globs)
{
    std::vector<DeviceSelector> selectors;
    for (const auto& glob : globs) {
        selectors.emplace_back().name = glob;
    }
    return selectors;
}

inline DeviceSelector with_speed(std::string_view condition, std::string name = {})
{
    DeviceSelector selector;
    selector.name = std::move(name);
    selector.speed = parse_speed_condition(condition).value();
    return selector;
}

inline FabricPort ca_port(std::uint64_t guid, std::string description, std::uint32_t port = 1,
                          std::vector<std::uint16_t> pkeys = {0xFFFF}, std::uint64_t node_guid = 0)
{
    return {Guid{guid}, port, Guid{node_guid}, NodeType::Ca, std::move(description), std::move(pkeys), false};
}

// The row of "unit".
inline const ClientKey& client_key(std::string_view name)
{
    return *std::ranges::find(kClientKeys, name, &ClientKey::name);
}

inline Identity somebody(std::uint32_t uid = 1000)
{
    Identity identity;
    identity.pid = 4711;
    identity.start_time = 99;
    identity.uid = uid;
    identity.gids = {uid};
    identity.cgroup = "/system.slice/job-7.scope";
    identity.unit = "job-7.scope";
    identity.executable = "/usr/bin/ib_write_bw";
    identity.command = "ib_write_bw";
    identity.slurm_job = "98";
    identity.kubernetes_pod = "1f0c3bd4-7a65";
    return identity;
}

class TestPolicy {
public:
    TestPolicy()
    {
        level("DEFAULT", [](QosLevel& l) { l.sl = 0; });
    }

    template <typename Edit>
    void level(std::string name, Edit edit)
    {
        QosLevel level;
        level.name = std::move(name);
        edit(level);
        policy.levels.push_back(std::move(level));
    }
    void level(std::string name)
    {
        level(std::move(name), [](QosLevel&) {});
    }

    template <typename Edit>
    void group(std::string name, Edit edit)
    {
        PortGroup group;
        group.name = std::move(name);
        edit(group);
        policy.groups.push_back(std::move(group));
    }

    template <typename Edit>
    void rule(std::string_view level_name, Edit edit)
    {
        MatchRule rule;
        rule.number = policy.rules.size() + 1;
        rule.level = level_index(level_name);
        rule.location = {file_, static_cast<std::uint32_t>(10 * rule.number), 5, 1};
        edit(rule);
        policy.rules.push_back(std::move(rule));
    }

    void partition(std::string name, std::uint16_t pkey, std::string_view level_name)
    {
        policy.partitions.push_back({std::move(name), pkey, level_index(level_name), {}});
    }

    [[nodiscard]] std::size_t level_index(std::string_view name) const
    {
        const auto found = std::find_if(policy.levels.begin(), policy.levels.end(),
                                        [name](const QosLevel& level) { return level.name == name; });
        return static_cast<std::size_t>(found - policy.levels.begin());
    }
    [[nodiscard]] std::size_t group_index(std::string_view name) const
    {
        const auto found = std::find_if(policy.groups.begin(), policy.groups.end(),
                                        [name](const PortGroup& group) { return group.name == name; });
        return static_cast<std::size_t>(found - policy.groups.begin());
    }

    [[nodiscard]] ResolvedGroups resolved() const { return resolve(policy, fabric, local); }
    // Asks a Matcher, which must say what a plain scan says.
    [[nodiscard]] Result<Match> ask(const Request& request, const Identity& identity = somebody()) const
    {
        const Matcher matcher(policy, resolved());
        auto answer = matcher.match(request, identity);
        EXPECT_EQ(in_full(answer), in_full(scan(policy, matcher.groups(), request, identity)));
        return answer;
    }
    [[nodiscard]] std::string why(const Request& request, const Identity& identity = somebody()) const
    {
        const Matcher matcher(policy, resolved());
        return matcher.why(matcher.match(request, identity).value(), request, identity);
    }
    [[nodiscard]] Explanation explain(const Request& request, const Identity& identity, const PathLimits& limits) const
    {
        return rdmaqos::explain(Matcher(policy, resolved()), request, identity, limits);
    }

    Policy policy;
    Fabric fabric;
    std::vector<LocalPort> local;

private:
    std::shared_ptr<const SourceFile> file_ = std::make_shared<SourceFile>(SourceFile{"policy.yaml", ""});
};

// "rule 2: rpc", "default: DEFAULT", "error: <message>"
inline std::string outcome(const Result<Match>& result)
{
    if (!result) {
        return "error: " + result.error().message;
    }
    switch (result->source) {
    case LevelSource::Requested:
        return "requested: " + result->level->name;
    case LevelSource::Rule:
        return "rule " + std::to_string(result->rule->number) + ": " + result->level->name;
    case LevelSource::Partition:
        return "partition: " + result->level->name;
    case LevelSource::Default:
        return "default: " + result->level->name;
    }
    return {};
}

}    // namespace rdmaqos::test
