// How long a test waits: the only place with a number. Who waits goes on as soon as what he waits for is there, so that
// on an idle machine nothing takes longer for it.
//
// No test judges by the wall clock (docs/testing.md): what takes longer than this hangs.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

namespace rdmaqos::test {

// What takes milliseconds on an idle machine; with sanitizers, perhaps a second.
constexpr std::chrono::seconds kHung{120};
// What takes seconds there: a program that does much, or hundreds of them.
constexpr std::chrono::seconds kManyHung{1200};
// For interfaces of C.
constexpr int kHungMs = static_cast<int>(std::chrono::milliseconds(kHung).count());

// A moment in which something could happen that must not. On a busy machine it may be too short to see a fault; it is
// never too short for what has none.
constexpr std::chrono::milliseconds kMoment{200};

// Asks again until it is true; false: it hangs.
[[nodiscard]] inline bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds patience = kHung)
{
    const auto deadline = std::chrono::steady_clock::now() + patience;
    std::chrono::milliseconds pause{1};
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) {
            return false;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, std::chrono::milliseconds(10));
    }
    return true;
}

}    // namespace rdmaqos::test
