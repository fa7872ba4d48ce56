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
    std::chrono::nanoseconds computed{
        0};    // since it began; while it has a processor, the kernel counts it by the tick
};

class Chance {
public:
    // Called again and again with the threads of the program are runnable now. True: nobody is about to post. For the
    // second time in a row, each thread sleeps or has computed long enough without (who comes to a guarded page of the
    // device sleeps for a moment).
    [[nodiscard]] bool is_over(std::span<const RunnableThread> threads);

private:
    struct Thread {
        // When it was seen first or, as that may have been counted before the tick, when it had grown for the first
        // time.
        std::chrono::nanoseconds computed{0};
        bool has_grown = false;
    };
    std::map<pid_t, Thread> threads_;
    bool nobody_was_left_ = false;
};

}    // namespace rdmaqos::emulator
