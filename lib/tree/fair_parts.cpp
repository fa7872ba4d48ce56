#include "lib/tree/fair_parts.h"

#include <algorithm>
#include <numeric>

#include "lib/tree/max_min.h"

namespace rdmaqos {
namespace {

// Weighted max-min among some of them; the others are not touched. Returns what is left.
template <typename Weight>
double divide_among(double whole, std::span<const FairClaim> claims, Weight weight, std::vector<double>& parts)
{
    std::vector<Claim> some;
    std::vector<std::size_t> whose;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        if (weight(claims[i]) != 0 && claims[i].most > 0) {
            some.push_back({claims[i].most, weight(claims[i])});
            whose.push_back(i);
        }
    }
    const auto divided = divide_max_min(whole, some);
    for (std::size_t i = 0; i < divided.size(); ++i) {
        parts[whose[i]] = divided[i];
    }
    return std::max(whole - std::accumulate(divided.begin(), divided.end(), 0.0), 0.0);
}

}    // namespace

std::vector<double> divide_fairly(double whole, std::span<const FairClaim> claims)
{
    std::vector<double> parts(claims.size(), 0.0);
    double guaranteed = 0;    // of what is guaranteed, as much as can be used
    for (const auto& claim : claims) {
        guaranteed += std::min(static_cast<double>(claim.guarantee), claim.most);
    }
    double left = whole;
    if (guaranteed < whole) {
        const auto by_share = [](const FairClaim& claim) -> std::uint64_t {
            return claim.guarantee == 0 ? claim.share : 0;
        };
        const double rest = whole - guaranteed;
        left = guaranteed + divide_among(rest, claims, by_share, parts);
    }
    // Of at least the sum of the guarantees, each has at least its own.
    divide_among(
        left, claims, [](const FairClaim& claim) { return claim.guarantee; }, parts);
    return parts;
}

}    // namespace rdmaqos
