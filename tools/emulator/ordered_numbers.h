// Numbers that somebody has ordered for the next queue pairs (`ctl next-qp`).
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <vector>

namespace rdmaqos::emulator {

class OrderedNumbers {
public:
    static constexpr std::uint32_t kLast = 0xffffff;    // 24 bits

    // False, and nothing is ordered: one of them is taken, ordered already, or no number of a queue pair.
    template <typename IsTaken>
    [[nodiscard]] bool order(const std::vector<std::uint32_t>& numbers, const IsTaken& is_taken)
    {
        std::set<std::uint32_t> all(numbers_.begin(), numbers_.end());
        for (const std::uint32_t number : numbers) {
            // 0 and 1 are those of the subnet manager and of connection management.
            if (number < 2 || number > kLast || is_taken(number) || !all.insert(number).second) {
                return false;
            }
        }
        numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
        return true;
    }
    // Empty: none is ordered.
    std::optional<std::uint32_t> take()
    {
        if (numbers_.empty()) {
            return std::nullopt;
        }
        const std::uint32_t number = numbers_.front();
        numbers_.pop_front();
        return number;
    }

private:
    std::deque<std::uint32_t> numbers_;
};

}    // namespace rdmaqos::emulator
