// Long answers in short turns of the main loop, so that calls of others are answered in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/bus/turns.h"

namespace rdmaqos {

// What one call of a long task may take of the main loop.
constexpr Duration kSlice = std::chrono::microseconds(500);

// Part of an answer; false when it is complete.
using Step = std::function<bool()>;

// Two long answers of a user are written at once; the others of this user wait. Each can take many megabytes.
class LongAnswers {
public:
    explicit LongAnswers(bus::Turns& turns) : turns_(turns) {}

    // `begin` makes what is needed for the answer, when it is its turn. LimitReached: too many of this user wait.
    [[nodiscard]] Result<void> write(Account account, std::function<Step()> begin);

private:
    struct User {
        std::size_t running = 0;
        std::deque<std::function<Step()>> waiting;
    };

    void start(Account account, std::function<Step()> begin);
    // Calls `step` for a slice, and again in a later turn until it returns false.
    void go_on(Account account, Step step);
    void ended(Account account);

    bus::Turns& turns_;
    std::map<Account, User> users_;
};

}    // namespace rdmaqos
