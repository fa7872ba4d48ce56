// Inside compile(): small whole weights for siblings. Not for users of lib/tree.
//
//     wanted               weights from 1 to 100    reached                    total deviation
//     10 %, 89.6, 0.4      11:98:1                  10 %, 89.1, 0.9            0.9 % (the first has to have its 10 %)
//
// What counts is the total deviation: the sum of |reached - wanted| over all siblings, in parts of their parent's
// capacity. Of a sibling with a guarantee, wanted is the guarantee: what it has beyond that is missing elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rdmaqos::compiling {

struct WeightTarget {
    double fraction = 0;           // of the parent's capacity, wanted; 0: as little as can be
    std::uint64_t min_kbps = 0;    // never less than this when all siblings are busy; 0: no guarantee
    bool fixed = false;            // the device's default, which counts as weight 1 and is not ours to choose
};

struct Weights {
    std::vector<std::uint32_t> weights;    // 1..max_share, in the order of the targets
    // What each gets when all are busy, in parts of what the fractions are parts of: of the whole where one has a
    // guarantee, else of what the fixed ones leave.
    std::vector<double> reached;
    double total_deviation = 0;    // the fixed ones do not count
};

// The weights with the least total deviation among those that meet every guarantee: min_kbps <= capacity * weight /
// sum. Where no weights do, all guarantees are lowered by the same factor until some do. Equal targets have equal
// weights. Of equally good weights, those with the smaller sum; of these, those whose worst relative deviation is the
// least.
//
// Deterministic. A guarantee is missed only where no weights meet all. The deviation is the least there is, apart from
// two things that bound the time: a device with more than 256 shares does not get larger weights for what nobody could
// measure (0.1 %), and among more than 20 different targets perhaps not every sum of weights is tried.
[[nodiscard]] Weights choose_weights(std::span<const WeightTarget> targets, std::uint64_t capacity_kbps,
                                     std::uint32_t max_share);

}    // namespace rdmaqos::compiling
