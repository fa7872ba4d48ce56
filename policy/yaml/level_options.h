// How the options of a QoS level are read, a row for each; what else is known of them are the rows of
// policy/keys/level_keys.cpp.
#pragma once

#include <span>
#include <string_view>

#include "policy/model/policy.h"
#include "policy/yaml/build.h"

namespace rdmaqos::reader {

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
};

// All but `name`, `use` and `remove`.
[[nodiscard]] std::span<const LevelOption> level_options();

}    // namespace rdmaqos::reader
