// The main loop as a seam: what talks runs on one thread, and tests bring a loop they step by hand.
#pragma once

#include <functional>
#include <memory>

#include "lib/base/clock.h"

namespace rdmaqos {

// A pending timer; destroying it cancels.
class Timer {
public:
    virtual ~Timer() = default;
};

class Executor {
public:
    virtual ~Executor() = default;

    // Runs `function` on the loop soon, in the order posted. Callable from any thread.
    virtual void post(std::function<void()> function) = 0;
    // Runs `function` on the loop once, after `delay`; never if the loop has ended. Loop thread only.
    [[nodiscard]] virtual std::unique_ptr<Timer> after(Duration delay, std::function<void()> function) = 0;
};

}    // namespace rdmaqos
