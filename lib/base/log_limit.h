// How many lines somebody else may cause in the log in a second: each of them, and all together.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "lib/base/clock.h"

namespace rdmaqos {

class LogLimit {
public:
    LogLimit(std::uint32_t of_each, std::uint32_t of_all) : of_each_(of_each), of_all_(of_all) {}

    // Last: may be written, and the next of this second may not.
    enum class Line : std::uint8_t { Written, Last, LeftOut };
    // `whose`: a uid.
    [[nodiscard]] Line take(std::uint32_t whose, TimePoint now);

private:
    std::uint32_t of_each_;
    std::uint32_t of_all_;
    TimePoint begin_{};    // of the second that is counted
    std::uint32_t all_ = 0;
    std::unordered_map<std::uint32_t, std::uint32_t> each_;
};

}    // namespace rdmaqos
