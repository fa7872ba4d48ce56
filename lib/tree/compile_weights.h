// Inside compile(): small whole weights for siblings. Not for users of lib/tree.
//
//     wanted               weights from 1 to 100    reached                    total deviation
//     10 %, 89.6, 0.4      11:98:1                  10 %, 89.1, 0.9            0.9 % (the first has to have its 10 %)
//     14 %, 16, 70         1:2:5                    14 %, 16, 70               none, if the second can use 16 % only
//
// What counts is the total deviation: the sum of |reached - wanted| over all siblings, in parts of their parent's
// capacity. Of a sibling with a guarantee, wanted is the guarantee: what it has beyond that is missing elsewhere.
//
// Who wants all that it can use (it is capped, or nobody is there) does not compete with the others: they divide what
// it leaves. Its weight only has to be large enough.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rdmaqos::compiling {

struct WeightTarget {
    double fraction = 0;           // of the parent's capacity, wanted; 0: as little as can be
    std::uint64_t min_kbps = 0;    // never less than this when all siblings are busy; 0: no guarantee
    bool fixed = false;            // the device's default, which counts as weight 1 and is not ours to choose
    std::optional<std::uint64_t> most_kbps{};    // it can use; empty: all there is; 0: nobody is there
};

struct Weights {
    std::vector<std::uint32_t> weights;    // 1..max_share, in the order of the targets
    // What each gets when all are busy, in parts of what the fractions are parts of: of the whole where one has a
    // guarantee, else of what the fixed ones leave.
    std::vector<double> reached;
    double total_deviation = 0;    // the fixed ones do not count
};

// The weights with the least total deviation among those that meet every guarantee: no sibling has less than its
// min_kbps when all are busy. Where no weights do, all guarantees are lowered by the same factor until some do. Equal
// targets have equal weights. Of equally good weights, those with the smaller sum; of these, those whose worst relative
// deviation is the least. The weight of one that nobody is in is 1.
//
// Deterministic. A guarantee is missed only where no weights meet all. The deviation is the least there is, apart from
// what bounds the time: a device with more than 256 shares does not get larger weights for what nobody could measure
// (0.1 %), among more than 20 different targets perhaps not every sum of weights is tried, and with siblings that
// cannot use all there is it is tried only that all have their fill who want it, or have it by small weights, and,
// where these cannot all have it, that the largest ones go without.
//
// Beside a device's default, what siblings can use is not considered, except that nobody may be there.
[[nodiscard]] Weights choose_weights(std::span<const WeightTarget> targets, std::uint64_t capacity_kbps,
                                     std::uint32_t max_share);

}    // namespace rdmaqos::compiling
