#include "lib/tree/max_min.h"

#include <algorithm>
#include <numeric>

namespace rdmaqos {

std::vector<double> divide_max_min(double whole, std::span<const Claim> claims)
{
    std::vector<std::size_t> order(claims.size());
    std::iota(order.begin(), order.end(), 0);
    const auto wanted_per_weight = [&](std::size_t i) {
        return claims[i].wanted / static_cast<double>(claims[i].weight);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return wanted_per_weight(a) < wanted_per_weight(b); });
    std::uint64_t weights = 0;
    for (const Claim& claim : claims) {
        weights += claim.weight;
    }
    // Those that are satisfied come first. The others divide what is left then, so that no rounding adds up.
    std::vector<double> parts(claims.size());
    double left = whole;
    for (const std::size_t i : order) {
        const Claim& claim = claims[i];
        parts[i] = left * static_cast<double>(claim.weight) / static_cast<double>(weights);
        if (claim.wanted <= parts[i]) {
            parts[i] = claim.wanted;
            left = std::max(left - claim.wanted, 0.0);
            weights -= claim.weight;
        }
    }
    return parts;
}

}    // namespace rdmaqos
