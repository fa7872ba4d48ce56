// Weighted max-min fairness among siblings, which is what a work-conserving scheduler converges to: each gets its part
// by weight; who wants less than that gets what it wants, and what it leaves is divided among the others by their
// weights.
//
//     to divide 10, weights 7 and 3        the second wants all       it wants 2
//                                          7 and 3                    8 and 2
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rdmaqos {

struct Claim {
    double wanted = std::numeric_limits<double>::infinity();    // as much as it gets
    std::uint64_t weight = 1;
};

// What each of them gets, in their order. O(n log n).
[[nodiscard]] std::vector<double> divide_max_min(double whole, std::span<const Claim> claims);

}    // namespace rdmaqos
