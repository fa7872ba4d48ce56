#include "lib/tree/compile_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

namespace rdmaqos::compiling {
namespace {

__extension__ using Wide = unsigned __int128;    // a 64-bit rate times a sum of weights

constexpr double kExact = 1e-9;
// With guarantees among the siblings, weights this near are near enough to stay small.
constexpr double kNearEnough = 0.01;
// On a device with a large range of shares, weights beyond this many are only worth a difference one could measure.
constexpr std::uint64_t kManyShares = 256;
constexpr double kMeasurable = 0.001;
// Bounds the search: candidates times distinct targets.
constexpr std::uint64_t kWork = std::uint64_t{1} << 15U;

// Siblings that want the same have the same weight: a class of 200 processes is one group.
struct Group {
    WeightTarget target;
    std::uint32_t count = 0;
};

// Weights of the groups, and how good they are.
struct Candidate {
    std::vector<std::uint32_t> weights;
    double shortfall = 0;    // of the guarantees, relative, the worst
    double error = 0;        // of the others
    std::size_t worst = 0;
};

// Guarantees first. Differences of rounding do not count, so that the smaller weights, which are tried first, win.
bool is_better(const Candidate& a, const Candidate& b)
{
    if (std::abs(a.shortfall - b.shortfall) > kExact) {
        return a.shortfall < b.shortfall;
    }
    return a.error < b.error - kExact;
}

class Search {
public:
    Search(std::vector<Group> groups, std::uint64_t capacity, std::uint32_t max_share)
        : groups_(std::move(groups)), capacity_(capacity), max_share_(max_share)
    {
        for (const auto& group : groups_) {
            count_ += group.count;
            if (group.target.fixed) {
                fixed_ += group.count;
            } else if (group.target.min_kbps == 0) {
                sharers_ += group.count;
                shared_fraction_ += group.target.fraction * group.count;
            }
            guarantees_ = guarantees_ || (group.target.min_kbps != 0 && !group.target.fixed);
            largest_ = group.target.fixed ? largest_ : std::max(largest_, group.target.fraction);
        }
    }

    [[nodiscard]] Candidate run() const
    {
        if (guarantees_) {
            if (auto found = with_guarantees()) {
                return std::move(*found);
            }
        }
        return in_proportion();
    }

private:
    [[nodiscard]] std::uint32_t clamp(double weight) const
    {
        return static_cast<std::uint32_t>(std::clamp(weight, 1.0, static_cast<double>(max_share_)));
    }

    // Steps through 1..last, every number where that is cheap enough, else ever coarser; always ends with `last`.
    template <typename Function>
    void for_each_up_to(std::uint64_t first, std::uint64_t last, Function&& function) const
    {
        const std::uint64_t budget = std::max<std::uint64_t>(kWork / std::max<std::size_t>(groups_.size(), 1), 64);
        std::uint64_t done = 0;
        for (std::uint64_t value = first; value < last; ++done) {
            if (!function(value)) {
                return;
            }
            value += done < budget / 2 ? 1 : 1 + value * 64 / budget;
        }
        function(last);
    }

    // The largest fraction gets 1, 2, ... max_share; the others follow.
    [[nodiscard]] Candidate in_proportion() const
    {
        std::optional<Candidate> best;
        for_each_up_to(1, max_share_, [&](std::uint64_t largest_weight) {
            std::vector<std::uint32_t> weights;
            weights.reserve(groups_.size());
            for (const auto& [target, count] : groups_) {
                const double scaled = largest_ > 0 ? target.fraction / largest_ * static_cast<double>(largest_weight)
                                                   : 1;
                weights.push_back(target.fixed ? 1 : clamp(std::round(scaled)));
            }
            Candidate candidate = judge(std::move(weights));
            const double quality = std::max(candidate.shortfall, candidate.error);
            if (!best || is_better(candidate, *best)) {
                best = std::move(candidate);
            }
            return quality > (largest_weight < kManyShares ? kExact : kMeasurable);
        });
        return std::move(*best);
    }

    // For every sum of weights: guarantees get the least weight that holds, the others share what remains.
    [[nodiscard]] std::optional<Candidate> with_guarantees() const
    {
        std::optional<Candidate> best;
        for_each_up_to(count_, std::uint64_t{max_share_} * count_, [&](std::uint64_t sum) {
            auto weights = for_sum(sum);
            if (!weights) {
                return true;
            }
            Candidate candidate = judge(std::move(*weights));
            if (candidate.shortfall <= 0 && (!best || is_better(candidate, *best))) {
                best = std::move(candidate);
            }
            return !best || best->error > kNearEnough;
        });
        return best;
    }

    [[nodiscard]] std::optional<std::vector<std::uint32_t>> for_sum(std::uint64_t sum) const
    {
        std::vector<std::uint32_t> weights(groups_.size(), 1);
        std::uint64_t used = fixed_;
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            const auto& [target, count] = groups_[i];
            if (target.fixed || target.min_kbps == 0) {
                continue;
            }
            const auto least = static_cast<std::uint64_t>((Wide{target.min_kbps} * sum + capacity_ - 1) / capacity_);
            if (least > max_share_) {
                return std::nullopt;
            }
            // Without sharers what remains goes to the guarantees, in proportion.
            weights[i] = std::max(clamp(static_cast<double>(least)),
                                  sharers_ == 0 ? clamp(std::floor(target.fraction * static_cast<double>(sum))) : 1U);
            used += std::uint64_t{weights[i]} * count;
        }
        if (used + sharers_ > sum) {
            return std::nullopt;
        }
        share_out(weights, sum - used);
        return weights;
    }

    // Less than the whole remainder may be given out: the sum is then smaller, which only helps the guarantees.
    void share_out(std::vector<std::uint32_t>& weights, std::uint64_t remainder) const
    {
        std::uint64_t used = 0;
        const auto is_sharer = [](const Group& group) { return !group.target.fixed && group.target.min_kbps == 0; };
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            if (is_sharer(groups_[i]) && shared_fraction_ > 0) {
                weights[i] = clamp(std::floor(
                    groups_[i].target.fraction / shared_fraction_ * static_cast<double>(remainder) + kExact));
            }
            used += is_sharer(groups_[i]) ? std::uint64_t{weights[i]} * groups_[i].count : 0;
        }
        for (std::size_t i = 0; used > remainder && i < groups_.size(); ++i) {
            // The ones that were lifted to 1 took more than there is: everybody gets 1, which fits.
            if (is_sharer(groups_[i])) {
                weights[i] = 1;
            }
        }
    }

    [[nodiscard]] Candidate judge(std::vector<std::uint32_t> weights) const
    {
        Candidate candidate;
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            sum += std::uint64_t{weights[i]} * groups_[i].count;
        }
        const std::uint64_t chosen = guarantees_ ? sum : sum - fixed_;
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            const auto& target = groups_[i].target;
            if (target.fixed) {
                continue;
            }
            if (target.min_kbps != 0) {
                const Wide got = Wide{weights[i]} * capacity_;
                const Wide asked = Wide{target.min_kbps} * sum;
                if (got < asked) {
                    candidate.shortfall = std::max(candidate.shortfall,
                                                   static_cast<double>(asked - got) / static_cast<double>(asked));
                }
            }
            // More than its guarantee is no error, unless it is at the expense of other guarantees.
            if (target.fraction > 0 && (target.min_kbps == 0 || sharers_ == 0)) {
                const double fraction = static_cast<double>(weights[i]) / static_cast<double>(chosen);
                const double error = std::abs(fraction - target.fraction) / target.fraction;
                if (error > candidate.error) {
                    candidate.error = error;
                    candidate.worst = i;
                }
            }
        }
        candidate.weights = std::move(weights);
        return candidate;
    }

    std::vector<Group> groups_;
    std::uint64_t capacity_;
    std::uint32_t max_share_;
    std::uint64_t count_ = 0;
    std::uint64_t fixed_ = 0;
    std::uint64_t sharers_ = 0;
    double shared_fraction_ = 0;
    double largest_ = 0;
    bool guarantees_ = false;
};

}    // namespace

Weights choose_weights(std::span<const WeightTarget> targets, std::uint64_t capacity_kbps, std::uint32_t max_share)
{
    std::map<std::tuple<double, std::uint64_t, bool>, std::size_t> group_of_key;
    std::vector<Group> groups;
    std::vector<std::size_t> group_of(targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i) {
        auto target = targets[i];
        // A fraction is part of a key: it has to be a number, which this comparison is false for where it is not.
        target.fraction = target.fraction > 0 ? std::min(target.fraction, 1.0) : 0;
        const auto [entry, is_new] = group_of_key.try_emplace(
            std::tuple(target.fraction, target.min_kbps, target.fixed), groups.size());
        if (is_new) {
            groups.push_back({target, 0});
        }
        ++groups[entry->second].count;
        group_of[i] = entry->second;
    }
    const Candidate found = Search(std::move(groups), std::max<std::uint64_t>(capacity_kbps, 1), max_share).run();
    Weights result;
    result.worst_error = found.error;
    result.weights.reserve(targets.size());
    for (const std::size_t group : group_of) {
        result.weights.push_back(found.weights[group]);
    }
    const auto worst = std::find(group_of.begin(), group_of.end(), found.worst);
    result.worst = static_cast<std::size_t>(worst - group_of.begin());
    return result;
}

}    // namespace rdmaqos::compiling
