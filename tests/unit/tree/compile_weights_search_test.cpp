// The weights that choose_weights() finds, compared with all there are.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/tree/compile_weights.h"
#include "lib/tree/fair_parts.h"

namespace rdmaqos::compiling {
namespace {

using Numbers = std::vector<std::uint32_t>;

constexpr std::uint64_t kCapacity = 100'000'000;    // kbit/s

// A sibling of a policy: either a min-rate, in parts of 1000 of the capacity, or a share.
struct Sibling {
    std::uint64_t min = 0;
    std::uint32_t share = 0;
};

std::vector<WeightTarget> targets_of(const std::vector<Sibling>& siblings)
{
    double mins = 0;
    double shares = 0;
    for (const auto& sibling : siblings) {
        mins += static_cast<double>(sibling.min) / 1000;
        shares += sibling.min == 0 ? sibling.share : 0;
    }
    std::vector<WeightTarget> targets;
    for (const auto& [min, share] : siblings) {
        const double part = static_cast<double>(min) / 1000;
        const bool all_to_mins = shares <= 0 || mins >= 1;
        const double fraction = min == 0 ? (all_to_mins ? 0 : (1 - mins) * share / shares)
                                         : (all_to_mins ? part / mins : part);
        targets.push_back({fraction, min * (kCapacity / 1000), false});
    }
    return targets;
}

// Empty: a guarantee is missed.
std::optional<double> total_deviation(const std::vector<WeightTarget>& targets, const Numbers& weights)
{
    std::uint64_t sum = 0;
    for (const auto weight : weights) {
        sum += weight;
    }
    double total = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        if (weights[i] * kCapacity < targets[i].min_kbps * sum) {
            return std::nullopt;
        }
        total += std::abs(static_cast<double>(weights[i]) / static_cast<double>(sum) - targets[i].fraction);
    }
    return total;
}

bool are_equal(const WeightTarget& a, const WeightTarget& b)
{
    return a.fraction == b.fraction && a.min_kbps == b.min_kbps;
}

// Of all weights up to `largest`, one bound for each sibling, in which equal targets have equal weights.
std::optional<double> least_deviation(const std::vector<WeightTarget>& targets, const Numbers& largest)
{
    std::optional<double> best;
    Numbers weights(targets.size());
    const std::function<void(std::size_t)> choose = [&](std::size_t i) {
        if (i == targets.size()) {
            const auto deviation = total_deviation(targets, weights);
            best = deviation && (!best || *deviation < *best) ? deviation : best;
            return;
        }
        const auto same = std::find_if(targets.begin(), targets.begin() + static_cast<std::ptrdiff_t>(i),
                                       [&](const WeightTarget& other) { return are_equal(other, targets[i]); });
        if (const auto twin = static_cast<std::size_t>(same - targets.begin()); twin < i) {
            weights[i] = weights[twin];
            choose(i + 1);
            return;
        }
        for (weights[i] = 1; weights[i] <= largest[i]; ++weights[i]) {
            choose(i + 1);
        }
    };
    choose(0);
    return best;
}

std::string text_of(const std::vector<Sibling>& siblings, const Numbers& weights)
{
    std::string text;
    for (std::size_t i = 0; i < siblings.size(); ++i) {
        text += fmt::format("min {} share {}: {}\n", siblings[i].min, siblings[i].share, weights[i]);
    }
    return text;
}

std::string text_of(const std::vector<WeightTarget>& targets, const Numbers& weights)
{
    std::string text;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const auto& target = targets[i];
        text += fmt::format("{:.3f} % min {} most {}: {}\n", target.fraction * 100, target.min_kbps,
                            target.most_kbps ? std::to_string(*target.most_kbps) : "all", weights[i]);
    }
    return text;
}

// The next of all there are; false: these were the last.
bool next_weights(Numbers& weights, std::uint32_t largest)
{
    for (auto& weight : weights) {
        if (weight < largest) {
            ++weight;
            return true;
        }
        weight = 1;
    }
    return false;
}

class RandomSiblings {
public:
    std::vector<Sibling> next()
    {
        std::vector<Sibling> siblings(number(2, 4));
        for (auto& sibling : siblings) {
            const auto kind = number(0, 5);
            if (kind < 2) {
                sibling.min = number(1, 450);
            } else {
                sibling.share = number(1, kind < 4 ? 5 : 300);
            }
        }
        if (number(0, 4) == 0) {
            siblings.back() = siblings.front();
        }
        return siblings;
    }

    std::uint32_t number(std::uint32_t first, std::uint32_t last)
    {
        return first + static_cast<std::uint32_t>(numbers_() % (last - first + 1));
    }

private:
    std::mt19937 numbers_{20'26};
};

TEST(WeightsAgainstAll, NoneAreNearerAndNoGuaranteeIsMissed)
{
    constexpr int kSets = 3000;
    constexpr double kRounding = 1e-9;
    RandomSiblings random;
    int exact = 0;
    int impossible = 0;
    for (int i = 0; i < kSets; ++i) {
        const auto siblings = random.next();
        const auto targets = targets_of(siblings);
        const auto max_share = random.number(6, 12);
        const auto chosen = choose_weights(targets, kCapacity, max_share);
        ASSERT_TRUE(std::all_of(chosen.weights.begin(), chosen.weights.end(),
                                [&](std::uint32_t weight) { return weight >= 1 && weight <= max_share; }));
        const auto best = least_deviation(targets, Numbers(targets.size(), max_share));
        const auto reached = total_deviation(targets, chosen.weights);
        ASSERT_EQ(reached.has_value(), best.has_value()) << text_of(siblings, chosen.weights);
        if (!best) {
            ++impossible;
            continue;
        }
        ASSERT_NEAR(chosen.total_deviation, *reached, kRounding);
        ASSERT_LE(*reached, *best + kRounding) << "up to " << max_share << "\n" << text_of(siblings, chosen.weights);
        ++exact;
    }
    fmt::print("{} sets of 2 to 4 siblings: {} have the best weights, {} have guarantees that no weights meet\n", kSets,
               exact, impossible);
    EXPECT_EQ(exact + impossible, kSets);
    EXPECT_GT(exact, kSets * 3 / 4);
    EXPECT_GT(impossible, 0);
}

// ---- with caps, and siblings that nobody is in

// What the device gives, by rounds: who can use no more has that, and the others divide what is left.
std::vector<double> rates_of(const std::vector<WeightTarget>& targets, const Numbers& weights)
{
    std::vector<double> rates(targets.size(), -1);
    for (bool again = true; again;) {
        again = false;
        double left = kCapacity;
        double sum = 0;
        for (std::size_t i = 0; i < targets.size(); ++i) {
            left -= std::max(rates[i], 0.0);
            sum += rates[i] < 0 ? weights[i] : 0;
        }
        for (std::size_t i = 0; i < targets.size(); ++i) {
            const auto most = targets[i].most_kbps;
            if (rates[i] < 0 && most && static_cast<double>(*most) <= left * weights[i] / sum + 1e-3) {
                rates[i] = static_cast<double>(*most);
                again = true;
            }
        }
        for (std::size_t i = 0; i < targets.size() && !again; ++i) {
            rates[i] = rates[i] < 0 ? left * weights[i] / sum : rates[i];
        }
    }
    return rates;
}

// Siblings of which a third can use only so much, some nothing, and what they shall have.
std::vector<WeightTarget> capped_targets(RandomSiblings& random)
{
    const auto siblings = random.next();
    std::vector<FairClaim> claims;
    for (const auto& sibling : siblings) {
        FairClaim claim{std::numeric_limits<double>::infinity(), sibling.min * (kCapacity / 1000), sibling.share};
        if (random.number(0, 2) == 0) {
            claim.most = random.number(0, 4) == 0 ? 0 : 1000.0 * random.number(1, 100'000);
        }
        claims.push_back(claim);
    }
    const auto parts = divide_fairly(kCapacity, claims);
    std::vector<WeightTarget> targets;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        WeightTarget target{parts[i] / kCapacity, 0, false};
        if (std::isfinite(claims[i].most)) {
            target.most_kbps = static_cast<std::uint64_t>(claims[i].most);
        }
        target.min_kbps = std::min(claims[i].guarantee, target.most_kbps.value_or(claims[i].guarantee));
        targets.push_back(target);
    }
    return targets;
}

std::optional<double> deviation_with_caps(const std::vector<WeightTarget>& targets, const Numbers& weights)
{
    const auto rates = rates_of(targets, weights);
    double total = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
        if (rates[i] + 1 < static_cast<double>(targets[i].min_kbps)) {
            return std::nullopt;
        }
        total += std::abs(rates[i] / kCapacity - targets[i].fraction);
    }
    return total;
}

bool equal_ones_are_equal(const std::vector<WeightTarget>& targets, const Numbers& weights)
{
    for (std::size_t a = 0; a < targets.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
            const bool are_same = are_equal(targets[a], targets[b]) && targets[a].most_kbps == targets[b].most_kbps;
            if (are_same && weights[a] != weights[b]) {
                return false;
            }
        }
    }
    return true;
}

TEST(WeightsAgainstAll, WithCapsNearlyAllAreTheBestAndNoGuaranteeIsMissed)
{
    constexpr int kSets = 1000;
    RandomSiblings random;
    int best = 0;
    double worst = 0;
    for (int i = 0; i < kSets; ++i) {
        const auto targets = capped_targets(random);
        const auto max_share = random.number(4, 6);
        const auto chosen = choose_weights(targets, kCapacity, max_share);
        std::optional<double> least;
        Numbers weights(targets.size(), 1);
        do {
            const auto deviation = equal_ones_are_equal(targets, weights) ? deviation_with_caps(targets, weights)
                                                                          : std::nullopt;
            least = deviation && (!least || *deviation < *least) ? deviation : least;
        } while (next_weights(weights, max_share));
        const auto reached = deviation_with_caps(targets, chosen.weights);
        ASSERT_EQ(reached.has_value(), least.has_value()) << text_of(targets, chosen.weights) << "up to " << max_share;
        if (least) {
            ASSERT_NEAR(chosen.total_deviation, *reached, 1e-6) << text_of(targets, chosen.weights);
            best += *reached <= *least + 1e-6 ? 1 : 0;
            worst = std::max(worst, *reached - *least);
        }
    }
    fmt::print("{} sets with caps: {} have the best weights; the worst is {:.3f} % of the capacity from them\n", kSets,
               best, worst * 100);
    EXPECT_GE(best, kSets * 97 / 100);
}

TEST(WeightsAgainstAll, WhoAsksForMoreOfTheRestDoesNotGetLess)
{
    RandomSiblings random;
    for (int i = 0; i < 3000; ++i) {
        const auto siblings = random.next();
        const auto weights = choose_weights(targets_of(siblings), kCapacity, random.number(6, 100)).weights;
        for (std::size_t a = 0; a < siblings.size(); ++a) {
            for (std::size_t b = 0; b < siblings.size(); ++b) {
                const bool is_more = siblings[a].min == 0 && siblings[b].min == 0 &&
                                     siblings[a].share > siblings[b].share;
                ASSERT_TRUE(!is_more || weights[a] >= weights[b]) << text_of(siblings, weights);
            }
        }
    }
}

// A min-rate of 10 Gbit/s beside shares 200 and 1: all weights up to 100.
TEST(WeightsAgainstAll, AGuaranteeBesideUnequalShares)
{
    const auto targets = targets_of({{100, 0}, {0, 200}, {0, 1}});
    const auto chosen = choose_weights(targets, kCapacity, 100);
    EXPECT_EQ(chosen.weights, (Numbers{11, 98, 1}));
    EXPECT_NEAR(chosen.total_deviation, *least_deviation(targets, {100, 100, 100}), 1e-9);
    EXPECT_LT(chosen.total_deviation, *total_deviation(targets, {12, 100, 1}));
}

// 30 Gbit/s beside shares 2, 2, 1 and 200. A weight above 6 for one of the small ones cannot be near: the sum is 500 at
// most, so it would have 1.4 % where less than 0.7 % are wanted, and two of them are equal.
TEST(WeightsAgainstAll, AGuaranteeBesideMoreUnequalShares)
{
    const auto targets = targets_of({{300, 0}, {0, 2}, {0, 2}, {0, 1}, {0, 200}});
    const auto chosen = choose_weights(targets, kCapacity, 100);
    EXPECT_EQ(chosen.weights, (Numbers{42, 1, 1, 1, 95}));
    EXPECT_NEAR(chosen.total_deviation, *least_deviation(targets, {100, 6, 6, 6, 100}), 1e-9);
}

}    // namespace
}    // namespace rdmaqos::compiling
