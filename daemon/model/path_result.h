// What a client gets to know of a path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policy/path/path.h"

namespace rdmaqos {

// One answer of QueryPath.
struct PathResult {
    std::string level;
    std::string rule;    // Match::why
    PathAnswer answer;
    std::optional<std::uint8_t> traffic_class;    // as in a grant
    bool sl_of_host = false;
};

}    // namespace rdmaqos
