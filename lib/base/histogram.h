// How long things took, in buckets: cheap to keep, small to copy, enough for percentiles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/clock.h"

namespace rdmaqos {

// Every histogram has the same buckets, from a write to firmware to a reload with thousands of elements. A value, not
// thread-safe: it is kept on one thread and copied to others.
class Histogram {
public:
    // Upper bounds, included; one more bucket holds what took longer.
    static constexpr std::array<std::chrono::microseconds, 19> kBounds{
        std::chrono::microseconds(10),        std::chrono::microseconds(25),
        std::chrono::microseconds(50),        std::chrono::microseconds(100),
        std::chrono::microseconds(250),       std::chrono::microseconds(500),
        std::chrono::microseconds(1'000),     std::chrono::microseconds(2'500),
        std::chrono::microseconds(5'000),     std::chrono::microseconds(10'000),
        std::chrono::microseconds(25'000),    std::chrono::microseconds(50'000),
        std::chrono::microseconds(100'000),   std::chrono::microseconds(250'000),
        std::chrono::microseconds(500'000),   std::chrono::microseconds(1'000'000),
        std::chrono::microseconds(2'500'000), std::chrono::microseconds(5'000'000),
        std::chrono::microseconds(10'000'000)};

    // A negative time counts as none.
    void observe(Duration time);

    [[nodiscard]] std::uint64_t count() const;
    [[nodiscard]] double sum_seconds() const;
    // How many took at most kBounds[bound].
    [[nodiscard]] std::uint64_t at_most(std::size_t bound) const;

    friend bool operator==(const Histogram&, const Histogram&) = default;

private:
    std::array<std::uint64_t, kBounds.size() + 1> buckets_{};
    std::uint64_t nanoseconds_ = 0;
};

}    // namespace rdmaqos
