// The options of a QoS level, one row each: the key, how it is read, and what it says in words. What lists the keys,
// reads them and compares two levels goes by these rows: a new option is a row here, its member of QosLevel, and what
// it does.
#pragma once

#include <span>
#include <string_view>

#include "policy/model/policy.h"
#include "policy/model/policy_property.h"
#include "policy/yaml/build.h"

namespace rdmaqos {

// The one property that says nothing of what a level gives.
inline constexpr std::string_view kRenamedFromKey = "renamed-from";

// All that has an effect, in the order of the rows: for two levels, the same keys.
[[nodiscard]] PolicyProperties properties_of(const Policy& policy, const QosLevel& level);

namespace reader {

// A level that is being read.
struct LevelReading {
    Build& build;
    const Mapping& mapping;
    QosLevel& level;
    RateFields& fields;
};

struct LevelOption {
    std::string_view key;
    void (*read)(const LevelReading& reading, const Field& field);
    // Nothing for an option without effect, and for a second way to say another.
    void (*tell)(std::string_view key, const Policy& policy, const QosLevel& level, PolicyProperties& properties);
};

[[nodiscard]] std::span<const LevelOption> level_options();
// Those, and `name`, `use` and `remove`.
[[nodiscard]] std::span<const std::string_view> level_keys();

}    // namespace reader
}    // namespace rdmaqos
