// Random policies as texts, and edits of them; random devices to try them on.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/model/profile.h"
#include "lib/nic/backend.h"

namespace rdmaqos::test {

class Dice {
public:
    explicit Dice(std::uint32_t seed) : engine_(seed) {}
    // 0..n-1
    std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine_); }
    bool one_in(std::size_t n) { return below(n) == 0; }
    template <typename T, std::size_t size>
    T any_of(const std::array<T, size>& values)
    {
        return values.at(below(size));
    }

private:
    std::mt19937 engine_;
};

// A policy as its parts, so that it can be edited. Names come from a small pool: an edit keeps most of them.
struct RandomPolicy {
    struct Place {
        std::string name;
        std::string parent;    // empty: the root
        std::size_t share = 1;
        std::size_t min_gbps = 0;    // 0: none, the share counts
        std::size_t max_gbps = 0;    // 0: none
        // Of a level:
        std::string fair_by;
        std::size_t principal_mbps = 0;     // max-rate-each; 0: none
        std::size_t leaf_budget = 0;        // 0: none
        std::size_t responder_share = 0;    // 0: none
        std::size_t each_mbps = 0;          // per-queue-pair; 0: none
        bool is_monitored = false;
    };
    std::vector<Place> nodes;
    std::vector<Place> levels;
    std::size_t rules = 0;
    bool is_broken = false;

    [[nodiscard]] std::string text() const
    {
        std::string text = "version: 1\n";
        if (!nodes.empty()) {
            text += "scheduling-nodes:\n";
        }
        for (const auto& node : nodes) {
            text += fmt::format("  - {{name: {}{}{}}}\n", node.name,
                                node.parent.empty() ? "" : ", parent: " + node.parent, rates(node));
        }
        text += "qos-levels:\n  - {name: DEFAULT, sl: 0}\n";
        for (const auto& level : levels) {
            std::string schedule = (level.parent.empty() ? "" : ", parent: " + level.parent) + rates(level);
            schedule += level.fair_by.empty() ? "" : ", fair-by: " + level.fair_by;
            schedule += level.principal_mbps == 0 ? "" : fmt::format(", max-rate-each: {}Mbps", level.principal_mbps);
            schedule += level.leaf_budget == 0 ? "" : fmt::format(", leaf-budget: {}", level.leaf_budget);
            schedule += level.responder_share == 0 ? ""
                                                   : fmt::format(", responder: {{share: {}}}", level.responder_share);
            text += fmt::format(
                "  - {{name: {}, schedule: {{{}}}, allow: {{user: [alice]}}{}{}}}\n", level.name, schedule.substr(2),
                level.is_monitored ? ", mode: monitor" : "",
                level.each_mbps == 0 ? "" : fmt::format(", per-queue-pair: {{max-rate: {}Mbps}}", level.each_mbps));
        }
        for (std::size_t i = 0; i < rules; ++i) {
            text += fmt::format("{}  - {{service-id: [{}], qos-level-name: DEFAULT}}\n",
                                i == 0 ? "qos-match-rules:\n" : "", i + 1);
        }
        return text + (is_broken ? "bogus: 1\n" : "");
    }

private:
    static std::string rates(const Place& place)
    {
        return (place.min_gbps > 0 ? fmt::format(", min-rate: {}Gbps", place.min_gbps)
                                   : fmt::format(", share: {}", place.share)) +
               (place.max_gbps > 0 ? fmt::format(", max-rate: {}Gbps", place.max_gbps) : "");
    }
};

inline RandomPolicy::Place any_place(Dice& dice, std::string name, const std::vector<RandomPolicy::Place>& parents)
{
    RandomPolicy::Place place;
    place.name = std::move(name);
    if (!parents.empty() && !dice.one_in(3)) {
        place.parent = parents[dice.below(parents.size())].name;
    }
    place.share = 1 + dice.below(dice.one_in(5) ? 300 : 10);
    if (dice.one_in(4)) {
        place.min_gbps = 1 + dice.below(12);
    }
    if (dice.one_in(5)) {
        place.max_gbps = place.min_gbps + 15 + dice.below(60);
    }
    return place;
}

inline RandomPolicy::Place any_level(Dice& dice, std::string name, const std::vector<RandomPolicy::Place>& nodes)
{
    constexpr std::array<const char*, 6> kFairBy{"", "", "", "process", "queue-pair", "user"};
    auto level = any_place(dice, std::move(name), nodes);
    level.fair_by = dice.any_of(kFairBy);
    level.principal_mbps = !level.fair_by.empty() && dice.one_in(3) ? 100 + dice.below(5000) : 0;
    level.leaf_budget = !level.fair_by.empty() && dice.one_in(3) ? 1 + dice.below(4) : 0;
    level.responder_share = dice.one_in(6) ? 1 + dice.below(20) : 0;
    level.each_mbps = dice.one_in(8) ? 100 + dice.below(5000) : 0;
    return level;
}

inline RandomPolicy any_policy(Dice& dice)
{
    RandomPolicy policy;
    for (std::size_t i = dice.below(4); i > 0; --i) {
        policy.nodes.push_back(any_place(dice, fmt::format("n{}", i), policy.nodes));
    }
    for (std::size_t i = dice.below(6); i > 0; --i) {
        policy.levels.push_back(any_level(dice, fmt::format("c{}", i), policy.nodes));
    }
    if (!policy.levels.empty()) {
        policy.levels.front().is_monitored = dice.one_in(6);
    }
    return policy;
}

// One thing is another; mostly.
inline RandomPolicy edited(Dice& dice, RandomPolicy policy)
{
    policy.is_broken = dice.one_in(25);
    if (policy.levels.empty() || dice.one_in(8)) {
        return any_policy(dice);
    }
    RandomPolicy::Place& level = policy.levels[dice.below(policy.levels.size())];
    switch (dice.below(10)) {
    case 0:
        level = any_level(dice, level.name, policy.nodes);
        break;
    case 1:
        level.share = 1 + dice.below(20);
        level.min_gbps = 0;
        break;
    case 2:
        level.min_gbps += 1 + dice.below(4);
        level.max_gbps = 0;
        break;
    case 3:
        level.max_gbps = level.min_gbps + 15 + dice.below(60);
        break;
    case 4:
        policy.levels.erase(policy.levels.begin() + static_cast<std::ptrdiff_t>(dice.below(policy.levels.size())));
        break;
    case 5:
        policy.levels.push_back(any_level(dice, fmt::format("c{}", 10 + policy.levels.size()), policy.nodes));
        break;
    case 6:
        level.is_monitored = !level.is_monitored;
        break;
    default:
        policy.rules = dice.below(4);    // unrelated to any device
        break;
    }
    return policy;
}

inline Capabilities any_capabilities(Dice& dice)
{
    Capabilities capabilities = default_capabilities();
    if (dice.one_in(12)) {
        return {};    // no scheduling at all
    }
    capabilities.max_depth = static_cast<std::uint32_t>(2 + dice.below(4));
    if (dice.one_in(3)) {
        capabilities.max_leaves = static_cast<std::uint32_t>(2 + dice.below(10));
        capabilities.max_elements = static_cast<std::uint32_t>(capabilities.max_leaves + 2 + dice.below(10));
    }
    capabilities.shares = !dice.one_in(10);
    capabilities.rate_caps = !dice.one_in(10);
    capabilities.responder_leaf = !dice.one_in(5);
    if (dice.one_in(3)) {
        capabilities.pacing.supported_types = capabilities.attachable;
    }
    return capabilities;
}

// 0: it is not known, as of a port that is down.
inline Bandwidth any_link(Dice& dice)
{
    return Bandwidth::from_gbps(dice.any_of(std::array<std::uint64_t, 6>{0, 10, 25, 100, 100, 400}));
}

}    // namespace rdmaqos::test
