// What a client is told of a path.
#pragma once

#include <string>

#include "policy/path/path.h"

namespace rdmaqos {

// One answer of QueryPath.
struct PathResult {
    std::string level;
    std::string rule;    // Match::why
    PathAnswer answer;
};

}    // namespace rdmaqos
