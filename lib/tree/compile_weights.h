// Inside compile(): small whole weights for siblings. Not for users of lib/tree.
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
    // Of those without a guarantee, the one whose fraction is relatively farthest from what was wanted.
    double worst_error = 0;
    std::size_t worst = 0;
};

// The weights nearest to the fractions such that every guarantee holds: min_kbps <= capacity * weight / sum. Where no
// weights can do that, those that come nearest in proportion. Small weights are preferred among equally good ones.
[[nodiscard]] Weights choose_weights(std::span<const WeightTarget> targets, std::uint64_t capacity_kbps,
                                     std::uint32_t max_share);

}    // namespace rdmaqos::compiling
