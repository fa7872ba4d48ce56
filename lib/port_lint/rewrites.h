// Counting what somebody writes to a port while it is watched. Pure.
#pragma once

#include <chrono>
#include <span>

#include "lib/port_lint/values.h"

namespace rdmaqos::port_lint {

struct SeenWrite {
    std::chrono::milliseconds at{};    // since watching began
    dcb::Author author = dcb::Author::Unknown;
};

// `writes` in their order.
[[nodiscard]] Rewrites count_rewrites(std::span<const SeenWrite> writes, std::chrono::seconds watched);

}    // namespace rdmaqos::port_lint
