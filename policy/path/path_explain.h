// Why the answer to a path query is what it is.
#pragma once

#include <string>

#include "policy/path/path.h"

namespace rdmaqos {

// What each field of an answer comes from, in words: "mtu-limit of the level; the path has 5 = 4096 bytes".
struct PathReasons {
    std::string mtu;
    std::string rate;
    std::string packet_life;
    std::string pkey;
    std::string sl;
};

// `answer` is what apply_level() gave for the same arguments.
[[nodiscard]] PathReasons explain_answer(const QosLevel& level, const Request& request, const PathLimits& limits,
                                         const PathAnswer& answer);

}    // namespace rdmaqos
