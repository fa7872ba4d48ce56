#include "policy/explain/part_changes.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "policy/explain/properties.h"
#include "policy/match/criteria.h"

namespace rdmaqos {
namespace {

// A rule as far as it decides anything.
struct RuleMeaning {
    const MatchRule* rule = nullptr;
    std::string asks;    // "service-id 0x50, client.user alice"
    std::string level;
    std::optional<std::size_t> other;    // the same in the other policy
};
using Meanings = std::vector<RuleMeaning>;

PolicyPart part_of(const MatchRule& rule)
{
    return rule.origin == RuleOrigin::Ulp ? PolicyPart::UlpRule : PolicyPart::MatchRule;
}

std::string level_of(const Policy& policy, const MatchRule& rule)
{
    const QosLevel& level = policy.levels.at(rule.level);
    return level.from_ulp && level.sl ? fmt::format("sl {}", *level.sl) : fmt::format("level {}", level.name);
}

Meanings meanings_of(const Policy& policy)
{
    ResolvedGroups none;    // has no ports: only what a rule asks for is read
    none.groups.resize(policy.groups.size());
    const Request request;
    const Identity nobody;
    const Evaluator evaluator(policy, none, request, nobody);
    Meanings meanings;
    meanings.reserve(policy.rules.size());
    for (const MatchRule& rule : policy.rules) {
        std::string asks = rule.ulp;
        for (const Criterion& criterion : kCriteria) {
            if (rule.origin == RuleOrigin::MatchRule && Evaluator::asks(rule, criterion)) {
                asks += fmt::format("{}{} {}", asks.empty() ? "" : ", ", criterion.key,
                                    evaluator.asked(rule, criterion));
            }
        }
        if (!rule.adopt) {
            asks += asks.empty() ? "adopt no" : ", adopt no";
        }
        meanings.push_back({&rule, asks.empty() ? "everything" : std::move(asks), level_of(policy, rule), {}});
    }
    return meanings;
}

// Makes pairs of rules that have none yet and have the same `key`, in their order.
template <typename Key>
void pair_by(Meanings& before, Meanings& after, Key key)
{
    std::unordered_map<std::string, std::deque<std::size_t>> open;
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (!before[i].other) {
            open[key(before[i])].push_back(i);
        }
    }
    for (std::size_t i = 0; i < after.size(); ++i) {
        const auto found = after[i].other ? open.end() : open.find(key(after[i]));
        if (found != open.end() && !found->second.empty()) {
            after[i].other = found->second.front();
            before[found->second.front()].other = i;
            found->second.pop_front();
        }
    }
}

// Of the rules that stay: a longest sequence whose order stays too. The others have moved.
std::vector<bool> in_order(const Meanings& after)
{
    std::vector<std::size_t> ends;    // of a sequence of each length: its last rule, in `after`
    std::vector<std::optional<std::size_t>> previous(after.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
        if (!after[i].other) {
            continue;
        }
        const auto place = std::partition_point(ends.begin(), ends.end(),
                                                [&](std::size_t end) { return *after[end].other < *after[i].other; });
        if (place != ends.begin()) {
            previous[i] = *std::prev(place);
        }
        if (place == ends.end()) {
            ends.push_back(i);
        } else {
            *place = i;
        }
    }
    std::vector<bool> kept(after.size());
    for (auto at = ends.empty() ? std::nullopt : std::optional(ends.back()); at; at = previous[*at]) {
        kept[*at] = true;
    }
    return kept;
}

std::string shown_asks(const RuleMeaning& meaning)
{
    constexpr std::size_t kLongest = 200;
    return shortened(meaning.asks, kLongest);
}

void add_rules(const Policy& policy_before, const Policy& policy_after, std::vector<PartChange>& changes)
{
    Meanings before = meanings_of(policy_before);
    Meanings after = meanings_of(policy_after);
    const auto origin = [](const RuleMeaning& meaning) { return to_string(part_of(*meaning.rule)); };
    pair_by(before, after, [&](const RuleMeaning& one) {
        return fmt::format("{}\n{}\n{}", origin(one), one.asks, to_lower(one.level));
    });
    pair_by(before, after, [&](const RuleMeaning& one) { return fmt::format("{}\n{}", origin(one), one.asks); });
    const std::vector<bool> stays = in_order(after);
    const auto add = [&](const RuleMeaning& meaning, PolicyChangeKind kind, std::string words) {
        changes.push_back({part_of(*meaning.rule), std::to_string(meaning.rule->number), kind, std::move(words)});
    };
    for (std::size_t i = 0; i < after.size(); ++i) {
        const RuleMeaning& now = after[i];
        const RuleMeaning* then = now.other ? &before[*now.other] : nullptr;
        if (then == nullptr) {
            add(now, PolicyChangeKind::New, fmt::format("new ({}: {})", shown_asks(now), now.level));
        } else if (!equals_ignoring_case(then->level, now.level)) {
            add(now, PolicyChangeKind::Changed, fmt::format("{} -> {} ({})", then->level, now.level, shown_asks(now)));
        } else if (!stays[i]) {
            add(now, PolicyChangeKind::Moved,
                fmt::format("was {} {} ({})", origin(now), then->rule->number, shown_asks(now)));
        }
    }
    for (const RuleMeaning& one : before) {
        if (!one.other) {
            add(one, PolicyChangeKind::Removed, fmt::format("removed ({}: {})", shown_asks(one), one.level));
        }
    }
}

// ---- objects with names ----

constexpr std::string_view kNone = "none";

PolicyProperties properties_of(const Policy&, const PortGroup& group)
{
    std::vector<std::string> types;
    const std::pair<bool, const char*> kTypes[] = {{group.node_types.ca, "CA"},
                                                   {group.node_types.switch_, "SWITCH"},
                                                   {group.node_types.router, "ROUTER"},
                                                   {group.self, "SELF"},
                                                   {group.subnet_manager, "the subnet manager's"}};
    for (const auto& [is, word] : kTypes) {
        if (is) {
            types.emplace_back(word);
        }
    }
    std::vector<std::string> gids;
    for (const GidPrefix& gid : group.gids) {
        gids.push_back(to_string(gid));
    }
    return {{"port-guid", to_string(group.port_guids, NumberBase::Hex), kNone},
            {"port-name", fmt::format("{}", fmt::join(group.port_names, ", ")), kNone},
            {"pkey", to_string(group.pkeys, NumberBase::Hex), kNone},
            {"partition", fmt::format("{}", fmt::join(group.partitions, ", ")), kNone},
            {"node-type", fmt::format("{}", fmt::join(types, ", ")), kNone},
            {"gid", fmt::format("{}", fmt::join(gids, ", ")), kNone}};
}

PolicyProperties properties_of(const Policy& policy, const Partition& partition)
{
    return {{"pkey", fmt::format("{:#06x}", partition.pkey), kNone},
            {"qos-level-name", partition.level ? policy.levels.at(*partition.level).name : std::string(), kNone}};
}

std::string key_of(const PortGroup& group)
{
    return to_lower(group.name);
}

std::string key_of(const Partition& partition)
{
    return partition.name;    // case matters
}

// The first of a name counts.
template <typename Object>
std::unordered_map<std::string, const Object*> by_name(const std::vector<Object>& objects)
{
    std::unordered_map<std::string, const Object*> found;
    for (const Object& object : objects) {
        found.emplace(key_of(object), &object);
    }
    return found;
}

template <typename Object>
void add_named(PolicyPart part, const Policy& before, const Policy& after, std::vector<Object> Policy::*objects,
               std::vector<PartChange>& changes)
{
    const auto then = by_name(before.*objects);
    const auto now = by_name(after.*objects);
    for (const Object& object : after.*objects) {
        const std::string key = key_of(object);
        if (now.at(key) != &object) {
            continue;
        }
        const PolicyProperties properties = properties_of(after, object);
        const auto old = then.find(key);
        if (old == then.end()) {
            changes.push_back(
                {part, object.name, PolicyChangeKind::New, "new" + summary_of(properties, kLongestShown)});
        } else if (auto words = differences_of(properties_of(before, *old->second), properties, kLongestShown);
                   !words.empty()) {
            changes.push_back({part, object.name, PolicyChangeKind::Changed, std::move(words)});
        }
    }
    for (const Object& object : before.*objects) {
        const std::string key = key_of(object);
        if (then.at(key) == &object && !now.contains(key)) {
            changes.push_back({part, object.name, PolicyChangeKind::Removed, "removed"});
        }
    }
}

}    // namespace

std::vector<PartChange> part_changes(const Policy& before, const Policy& after)
{
    std::vector<PartChange> changes;
    add_rules(before, after, changes);
    add_named(PolicyPart::PortGroup, before, after, &Policy::groups, changes);
    add_named(PolicyPart::Partition, before, after, &Policy::partitions, changes);
    return changes;
}

}    // namespace rdmaqos
