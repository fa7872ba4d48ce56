// A Policy as text, without the places: two policies that mean the same have the same text.
#pragma once

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "policy/keys/level_keys.h"
#include "policy/model/policy.h"

namespace rdmaqos::test {

inline std::string text_of(const std::optional<Bandwidth>& rate)
{
    return rate ? to_string(*rate) : "unlimited";
}

inline std::string text_of(const IntervalSet& set)
{
    return "[" + to_string(set, NumberBase::Hex) + "]";
}

template <typename T>
std::string text_of(const std::optional<T>& number)
{
    return number ? fmt::format("{}", static_cast<std::uint64_t>(*number)) : "none";
}

inline std::string text_of(const RateSpec& rate)
{
    const auto part = [](const std::optional<Percentage>& value) { return value ? to_string(*value) : "none"; };
    return fmt::format("share {} min {} {} max {} {}", text_of(rate.share), text_of(rate.min_rate), part(rate.min_part),
                       text_of(rate.max_rate), part(rate.max_part));
}

inline std::string text_of(const std::optional<ClientCriteria>& client)
{
    if (!client) {
        return "none";
    }
    return fmt::format(
        "uids {} gids {} users {} groups {} units {} cgroups {} jobs {} pods {} executables {} commands {}",
        client->uids, client->gids, client->users, client->groups, client->units, client->cgroups, client->slurm_jobs,
        client->kubernetes_pods, client->executables, client->commands);
}

inline std::string text_of(const PortGroup& group)
{
    std::vector<std::string> gids;
    for (const auto& gid : group.gids) {
        gids.push_back(to_string(gid));
    }
    return fmt::format("group '{}' use '{}' guids {} names {} pkeys {} partitions {} types {}{}{} self {} gids {}\n",
                       group.name, group.use, text_of(group.port_guids), group.port_names, text_of(group.pkeys),
                       group.partitions, group.node_types.ca, group.node_types.switch_, group.node_types.router,
                       group.self, gids);
}

inline std::string text_of(const Policy& policy, const QosLevel& level)
{
    std::string text = fmt::format("level '{}' use '{}' bits {} ulp {} allow {}\n", level.name, level.use,
                                   text_of(level.path_bits), level.from_ulp, text_of(level.allow));
    for (const PolicyProperty& property : keys::properties_of(policy, level)) {
        text += fmt::format("  {} {}\n", property.key, property.value);
    }
    return text;
}

inline std::string text_of(const MatchRule& rule)
{
    return fmt::format(
        "rule {} origin {} use '{}' ulp '{}' from {} to {} class {} service {} pkey {} client {} devices {} "
        "level {} adopt {}\n",
        rule.number, static_cast<int>(rule.origin), rule.use, rule.ulp, rule.source, rule.destination,
        text_of(rule.qos_class), text_of(rule.service_id), text_of(rule.pkey), text_of(rule.client),
        to_string(rule.devices), rule.level, rule.adopt);
}

inline std::string text_of(const Policy& policy)
{
    std::string text;
    for (const auto& group : policy.groups) {
        text += text_of(group);
    }
    for (const auto& partition : policy.partitions) {
        text += fmt::format("partition '{}' {} level {}\n", partition.name, partition.pkey, text_of(partition.level));
    }
    for (const auto& name : policy.qos_class_names) {
        text += fmt::format("class '{}' {}\n", name.name, name.number);
    }
    for (const auto& node : policy.nodes) {
        text += fmt::format("node '{}' use '{}' parent {} {} devices {}\n", node.name, node.use, text_of(node.parent),
                            text_of(node.rate), to_string(node.devices));
    }
    for (const auto& level : policy.levels) {
        text += text_of(policy, level);
    }
    for (const auto& rule : policy.rules) {
        text += text_of(rule);
    }
    return text + fmt::format("default {}\n", policy.default_level);
}

}    // namespace rdmaqos::test
