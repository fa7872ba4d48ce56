// Until when something may take.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace rdmaqos::client {

class Deadline {
public:
    using Clock = std::chrono::steady_clock;

    explicit Deadline(std::chrono::milliseconds from_now) : until_(Clock::now() + from_now) {}
    [[nodiscard]] Clock::time_point until() const { return until_; }
    [[nodiscard]] bool is_over() const { return Clock::now() >= until_; }
    // Never 0, which sd-bus takes for its own default.
    [[nodiscard]] std::uint64_t microseconds_left() const
    {
        const auto left = std::chrono::duration_cast<std::chrono::microseconds>(until_ - Clock::now()).count();
        return static_cast<std::uint64_t>(std::max<std::int64_t>(left, 1));
    }
    // The earlier of this and so long from now on.
    [[nodiscard]] Deadline within(std::chrono::milliseconds from_now) const
    {
        Deadline other(from_now);
        other.until_ = std::min(other.until_, until_);
        return other;
    }

private:
    Clock::time_point until_;
};

}    // namespace rdmaqos::client
