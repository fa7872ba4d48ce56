#include "lib/port_classes/weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "lib/tree/max_min.h"

namespace rdmaqos::port_classes {
namespace {

using Percents = std::vector<std::uint8_t>;

constexpr double kNothing = 1e-9;    // a part of the link, or of a wish, that nobody could measure
constexpr double kLittle = 0.01;     // that nobody would miss

// Smaller is better, the first members first. Differences below what anybody could measure are none.
struct Error {
    double missed = 0;
    double deviation = 0;
    double worst = 0;

    [[nodiscard]] bool is_better_than(const Error& other) const
    {
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

// Gives `whole` away to those with these indexes: rounded down, and then up where the most is lost.
void largest_remainder(std::span<const WeightWish> wishes, const std::vector<std::size_t>& whose, std::uint32_t whole,
                       Percents& percents)
{
    double sum = 0;
    for (const std::size_t i : whose) {
        sum += wishes[i].wanted;
    }
    std::vector<double> lost(wishes.size());
    std::uint32_t given = 0;
    for (const std::size_t i : whose) {
        const double ideal = sum > 0 ? wishes[i].wanted / sum * whole : 0;
        percents[i] = static_cast<std::uint8_t>(std::max(std::floor(ideal + 1e-9), 1.0));
        lost[i] = ideal - percents[i];
        given += percents[i];
    }
    while (given != whole) {
        const bool is_short = given < whole;
        std::size_t chosen = wishes.size();
        for (const std::size_t i : whose) {
            const bool can = is_short || percents[i] > 1;
            if (can && (chosen == wishes.size() || (is_short ? lost[i] > lost[chosen] : lost[i] < lost[chosen]))) {
                chosen = i;
            }
        }
        percents[chosen] = static_cast<std::uint8_t>(percents[chosen] + (is_short ? 1 : -1));
        lost[chosen] += is_short ? -1 : 1;
        given += is_short ? 1 : -1;
    }
}

struct Choice {
    Percents percents;
    Error error;
};

// One percent from one to another, as long as that is better. There are eight classes at most.
void improve(std::span<const WeightWish> wishes, Choice& choice)
{
    for (bool is_better = true; is_better;) {
        is_better = false;
        const Percents from_here = choice.percents;
        for (std::size_t from = 0; from < wishes.size(); ++from) {
            for (std::size_t to = 0; to < wishes.size(); ++to) {
                if (from == to || from_here[from] == 1) {
                    continue;
                }
                Percents tried = from_here;
                --tried[from];
                ++tried[to];
                const Error error = error_of(wishes, tried);
                if (error.is_better_than(choice.error)) {
                    choice = {std::move(tried), error};
                    is_better = true;
                }
            }
        }
    }
}

// The sum of |weight - wanted|, in parts of the whole.
double distance(std::span<const WeightWish> wishes, const Percents& percents, std::uint32_t whole)
{
    double sum = 0;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
        sum += std::abs(static_cast<double>(percents[i]) / whole - wishes[i].wanted);
    }
    return sum;
}

// The weight of somebody who is capped only has to be large enough. So what is given to all of these together is tried,
// and the others divide what is left as exactly as that allows. Many are nearly as good as the best: of these, the one
// that is nearest to what is wanted. With it a class has about its part even where a cap is not what it seems.
void try_parts_of_capped(std::span<const WeightWish> wishes, std::uint32_t whole, Choice& choice)
{
    std::vector<std::size_t> capped;
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
        (wishes[i].most <= wishes[i].wanted * (1 + 1e-9) ? capped : others).push_back(i);
    }
    if (capped.empty() || others.empty()) {
        return;
    }
    std::vector<Choice> tried{choice};
    for (auto part = static_cast<std::uint32_t>(others.size()); part + capped.size() <= whole; ++part) {
        Percents percents(wishes.size());
        largest_remainder(wishes, others, part, percents);
        largest_remainder(wishes, capped, whole - part, percents);
        tried.push_back({percents, error_of(wishes, percents)});
    }
    const Error best = std::ranges::min_element(tried, [](const Choice& a, const Choice& b) {
                           return a.error.is_better_than(b.error);
                       })->error;
    const auto is_good = [&](const Choice& each) {
        return each.error.missed <= best.missed + kNothing && each.error.deviation <= best.deviation + kLittle &&
               each.error.worst <= best.worst + kLittle;
    };
    const Choice* nearest = nullptr;
    for (const Choice& each : tried) {
        if (is_good(each) && (nearest == nullptr || distance(wishes, each.percents, whole) <
                                                        distance(wishes, nearest->percents, whole) - kNothing)) {
            nearest = &each;
        }
    }
    choice = *nearest;
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
    std::vector<std::size_t> all(wishes.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    Choice choice{Percents(wishes.size()), {}};
    largest_remainder(wishes, all, whole, choice.percents);
    choice.error = error_of(wishes, choice.percents);
    // First near to what is wanted: of equally good weights, those hold best when not all are busy.
    improve(wishes, choice);
    try_parts_of_capped(wishes, whole, choice);
    improve(wishes, choice);
    return choice.percents;
}

}    // namespace rdmaqos::port_classes
