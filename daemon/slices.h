// Long answers in short turns of the main loop, so that calls of others are answered in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "lib/base/clock.h"
#include "lib/base/executor.h"
#include "lib/base/result.h"

namespace rdmaqos {

// A turn.
constexpr Duration kSlice = std::chrono::milliseconds(1);

// Part of an answer; false when it is complete.
using Step = std::function<bool()>;

// Calls `step` again and again until it returns false: for a turn now, and then when nothing else is there to do.
// Thread: the loop.
void in_slices(Executor& loop, Step step);

// Two long answers of a user are written at once; the others of this user wait. Each can take many megabytes.
class LongAnswers {
public:
    explicit LongAnswers(Executor& loop) : loop_(loop) {}

    // `begin` makes what is needed for the answer, when it is its turn. LimitReached: too many of this user wait.
    [[nodiscard]] Result<void> write(std::uint32_t uid, std::function<Step()> begin);

private:
    struct User {
        std::size_t running = 0;
        std::deque<std::function<Step()>> waiting;
    };

    void start(std::uint32_t uid, const std::function<Step()>& begin);
    void ended(std::uint32_t uid);

    Executor& loop_;
    std::map<std::uint32_t, User> users_;
};

}    // namespace rdmaqos
