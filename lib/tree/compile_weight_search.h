// Inside choose_weights(): weights for siblings that all compete with each other.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "lib/tree/compile_weights.h"

namespace rdmaqos::compiling {

// Siblings that want the same have the same weight: a class of 200 processes is one group.
struct WeightGroup {
    WeightTarget target;    // what it can use is not looked at
    std::uint32_t count = 0;
};

struct WeightLimits {
    std::uint64_t capacity_kbps = 1;    // what they divide, at least 1
    std::uint32_t max_share = 1;
    // The sum of all weights; not less than the number of siblings.
    std::uint64_t most_in_all = std::numeric_limits<std::uint64_t>::max();
};

constexpr std::uint64_t kAllGuarantees = std::uint64_t{1} << 20U;

struct FoundWeights {
    std::vector<std::uint32_t> weights;    // of the groups
    std::uint64_t sum = 0;
    double whole = 0;                                 // the sum of weights that the fractions are parts of
    double deviation = 0;                             // total
    std::uint64_t guarantees_met = kAllGuarantees;    // by which part of it, of kAllGuarantees, each can be met
};

[[nodiscard]] FoundWeights search_weights(const std::vector<WeightGroup>& groups, const WeightLimits& limits);

}    // namespace rdmaqos::compiling
