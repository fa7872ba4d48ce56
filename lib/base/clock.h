// Time as a seam, so that tests decide what time it is.
#pragma once

#include <chrono>

namespace rdmaqos {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual TimePoint now() const = 0;
};

class SteadyClock final : public Clock {
public:
    [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

class ManualClock final : public Clock {
public:
    [[nodiscard]] TimePoint now() const override { return now_; }
    void advance(Duration by) { now_ += by; }

private:
    TimePoint now_{};
};

}    // namespace rdmaqos
