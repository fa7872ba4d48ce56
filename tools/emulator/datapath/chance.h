// Whether a program that others wait for has had a processor, and has posted nothing with it.
#pragma once

#include <chrono>
#include <map>
#include <span>

#include <sys/types.h>

namespace rdmaqos::emulator {

// A thread that has a processor or waits for one.
struct RunnableThread {
    pid_t number = 0;
    std::chrono::nanoseconds computed{0};    // since it began; while it has a processor, the kernel counts it by the tick
};

class Chance {
public:
    // Those threads of the program that are runnable now; to be told again and again. True: none of them is about to post,
    // each has computed long enough without; or none was runnable twice in a row (who comes to a guarded page of the device
    // sleeps for a moment).
    [[nodiscard]] bool is_over(std::span<const RunnableThread> threads);

private:
    struct Thread {
        // When it was seen first or, as that may have been counted before the tick, when it had grown for the first time.
        std::chrono::nanoseconds computed{0};
        bool has_grown = false;
    };
    std::map<pid_t, Thread> threads_;
    bool nobody_was_left_ = false;
};

}    // namespace rdmaqos::emulator
