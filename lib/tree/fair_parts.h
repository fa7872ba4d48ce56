// What a policy gives siblings when all are busy: guarantees first, then the rest by shares, each up to what it can
// use. This is the definition; weights that a device can have only come near it.
//
//     to divide 100        guarantee    share    can use     has
//                          14                              14
//                                       37       16        16    (by shares 79.6)
//                                       3                  70
//                                       40       0          0    (nobody is there)
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rdmaqos {

struct FairClaim {
    double most = std::numeric_limits<double>::infinity();    // it can use: its cap, and what is below it
    std::uint64_t guarantee = 0;                              // 0: none, so it has a part of the rest
    std::uint32_t share = 1;                                  // of the rest; 0: nothing
};

// What each of them has, in their order and in the unit of `whole`. Guarantees beyond the whole are lowered by the same
// factor. What those with shares cannot use goes to those with guarantees, in proportion to the guarantees.
[[nodiscard]] std::vector<double> divide_fairly(double whole, std::span<const FairClaim> claims);

}    // namespace rdmaqos
