#include "lib/port_classes/weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "lib/tree/max_min.h"

namespace rdmaqos::port_classes {
namespace {

using Percents = std::vector<std::uint8_t>;

// Smaller is better, the first members first. Differences below what anybody could measure are none.
struct Error {
    double missed = 0;
    double deviation = 0;
    double worst = 0;

    [[nodiscard]] bool is_better_than(const Error& other) const
    {
        constexpr double kNothing = 1e-9;
        for (const auto& [a, b] :
             {std::pair(missed, other.missed), std::pair(deviation, other.deviation), std::pair(worst, other.worst)}) {
            if (std::abs(a - b) > kNothing) {
                return a < b;
            }
        }
        return false;
    }
};

Error error_of(std::span<const WeightWish> wishes, const Percents& percents)
{
    const auto reached = reached_with(wishes, percents);
    Error error;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
        const double off = std::abs(reached[i] - wishes[i].wanted);
        error.missed += std::max(wishes[i].at_least - reached[i], 0.0);
        error.deviation += off;
        error.worst = std::max(error.worst, wishes[i].wanted > 0 ? off / wishes[i].wanted : 0.0);
    }
    return error;
}

// Rounded down, and then up where the most is lost, until all is given away.
Percents largest_remainder(std::span<const WeightWish> wishes, std::uint32_t whole)
{
    double sum = 0;
    for (const auto& wish : wishes) {
        sum += wish.wanted;
    }
    Percents percents(wishes.size());
    std::vector<double> lost(wishes.size());
    std::uint32_t given = 0;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
        const double ideal = sum > 0 ? wishes[i].wanted / sum * whole : 0;
        percents[i] = static_cast<std::uint8_t>(std::max(std::floor(ideal + 1e-9), 1.0));
        lost[i] = ideal - percents[i];
        given += percents[i];
    }
    while (given != whole) {
        const bool is_short = given < whole;
        std::size_t chosen = wishes.size();
        for (std::size_t i = 0; i < wishes.size(); ++i) {
            const bool can = is_short || percents[i] > 1;
            if (can && (chosen == wishes.size() || (is_short ? lost[i] > lost[chosen] : lost[i] < lost[chosen]))) {
                chosen = i;
            }
        }
        percents[chosen] = static_cast<std::uint8_t>(percents[chosen] + (is_short ? 1 : -1));
        lost[chosen] += is_short ? -1 : 1;
        given += is_short ? 1 : -1;
    }
    return percents;
}

}    // namespace

std::vector<double> reached_with(std::span<const WeightWish> wishes, std::span<const std::uint8_t> percents)
{
    std::vector<Claim> claims(wishes.size());
    for (std::size_t i = 0; i < wishes.size(); ++i) {
        claims[i] = {wishes[i].most, percents[i]};
    }
    return divide_max_min(1.0, claims);
}

std::vector<std::uint8_t> choose_percents(std::span<const WeightWish> wishes, std::uint32_t whole)
{
    if (wishes.empty()) {
        return {};
    }
    Percents best = largest_remainder(wishes, whole);
    Error least = error_of(wishes, best);
    // One percent from one to another, as long as that is better. There are eight classes at most.
    for (bool is_better = true; is_better;) {
        is_better = false;
        Percents next = best;
        for (std::size_t from = 0; from < wishes.size(); ++from) {
            for (std::size_t to = 0; to < wishes.size(); ++to) {
                if (from == to || best[from] == 1) {
                    continue;
                }
                Percents tried = best;
                --tried[from];
                ++tried[to];
                const Error error = error_of(wishes, tried);
                if (error.is_better_than(least)) {
                    least = error;
                    next = std::move(tried);
                    is_better = true;
                }
            }
        }
        best = std::move(next);
    }
    return best;
}

}    // namespace rdmaqos::port_classes
