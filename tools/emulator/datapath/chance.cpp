#include "tools/emulator/datapath/chance.h"

#include <utility>

namespace rdmaqos::emulator {

bool Chance::is_over(std::span<const RunnableThread> threads)
{
    // A program that is awake looks at its completions within microseconds.
    constexpr std::chrono::microseconds kEnough(200);
    bool is_somebody_left = false;
    for (const RunnableThread& each : threads) {
        Thread& known = threads_.try_emplace(each.number, Thread{each.computed}).first->second;
        is_somebody_left = is_somebody_left || !known.has_grown || each.computed < known.computed + kEnough;
        if (!known.has_grown && each.computed > known.computed) {
            known = {each.computed, true};
        }
    }
    return std::exchange(nobody_was_left_, !is_somebody_left) && !is_somebody_left;
}

}    // namespace rdmaqos::emulator
