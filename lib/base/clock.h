// Time as a seam, so that tests decide what time it is.
#pragma once

#include <atomic>
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

// Stands still until it is advanced; a worker's thread may read it then.
class ManualClock final : public Clock {
public:
    [[nodiscard]] TimePoint now() const override { return TimePoint(Duration(now_.load())); }
    void advance(Duration by) { now_ += by.count(); }

private:
    std::atomic<Duration::rep> now_{};
};

}    // namespace rdmaqos
