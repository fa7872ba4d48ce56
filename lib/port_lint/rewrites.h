// Counting what somebody writes to a port while it is watched. Pure.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "lib/port_lint/values.h"

namespace rdmaqos::port_lint {

struct SeenWrite {
    std::chrono::milliseconds at{};    // since watching began
    std::string author;                // in words
};

// `writes` in their order.
[[nodiscard]] Rewrites count_rewrites(std::span<const SeenWrite> writes, std::chrono::seconds watched);

}    // namespace rdmaqos::port_lint
