// The levels that stand for the SLs of `qos-ulps`, named as OpenSM names them. No rule and no request can name one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "policy/model/policy.h"
#include "policy/model/ulp_forms.h"

namespace rdmaqos {

// Appends to the levels of the policy, which must outlive it.
class SimpleLevels {
public:
    explicit SimpleLevels(Policy& policy) : policy_(policy) {}

    // The level of an SL from 0 to 15; made when first asked for.
    [[nodiscard]] std::size_t of(std::uint8_t sl, const Location& location)
    {
        auto& index = by_sl_.at(sl);
        if (!index) {
            index = make(fmt::format("SimpleQoSLevel_SL{}", sl), sl, location);
        }
        return *index;
    }

    // That of `default`.
    [[nodiscard]] std::size_t make_default(std::uint8_t sl, const Location& location)
    {
        return make("SimpleQoSLevel_DEFAULT", sl, location);
    }

private:
    std::size_t make(std::string name, std::uint8_t sl, const Location& location)
    {
        QosLevel level;
        level.name = std::move(name);
        level.sl = sl;
        level.from_ulp = true;
        level.location = location;
        policy_.levels.push_back(std::move(level));
        return policy_.levels.size() - 1;
    }

    Policy& policy_;
    std::array<std::optional<std::size_t>, 16> by_sl_;
};

// The rule's criterion; the port group it may need is appended to the policy's. Returns the group's index.
inline std::optional<std::size_t> apply(UlpMeaning meaning, MatchRule& rule, Policy& policy)
{
    rule.service_id = std::move(meaning.service_id);
    rule.pkey = std::move(meaning.pkey);
    if (meaning.group_name.empty()) {
        return std::nullopt;
    }
    PortGroup group;
    group.name = meaning.group_name;
    group.use = "made by qos-ulps";
    group.port_guids = std::move(meaning.port_guids);
    group.location = rule.location;
    const std::size_t index = policy.groups.size();
    policy.groups.push_back(std::move(group));
    if (meaning.group_is_source) {
        rule.source = {index};
    }
    if (meaning.group_is_destination) {
        rule.destination = {index};
    }
    return index;
}

}    // namespace rdmaqos
