// Long work on the main loop in short turns, so that calls of others are answered in between.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "lib/base/executor.h"

namespace rdmaqos {

constexpr auto kSlice = std::chrono::milliseconds(1);

// Calls `step` again and again until it returns false: for a moment now, and then in turn with everything else.
// Thread: the loop.
inline void in_slices(Executor& loop, std::function<bool()> step)
{
    const auto end = std::chrono::steady_clock::now() + kSlice;
    while (step()) {
        if (std::chrono::steady_clock::now() >= end) {
            loop.post([&loop, rest = std::move(step)]() mutable { in_slices(loop, std::move(rest)); });
            return;
        }
    }
}

}    // namespace rdmaqos
