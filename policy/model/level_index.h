// The levels of a policy by name, for those who ask for many: Policy::find_level() looks at each level.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "policy/model/policy.h"

namespace rdmaqos {

// Answers as the policy does. The policy must outlive the index, and its levels stay as they are.
class LevelIndex {
public:
    explicit LevelIndex(const Policy& policy);

    [[nodiscard]] const QosLevel* find(std::string_view name) const { return among(by_name_, name); }
    [[nodiscard]] const QosLevel* find_renamed(std::string_view former_name) const
    {
        return among(by_former_name_, former_name);
    }

private:
    using Levels = std::unordered_map<std::string, const QosLevel*>;    // by the name in small letters

    [[nodiscard]] static const QosLevel* among(const Levels& levels, std::string_view name);

    Levels by_name_;
    Levels by_former_name_;
};

}    // namespace rdmaqos
