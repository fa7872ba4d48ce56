#include "lib/tree/compile_weight_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace rdmaqos::compiling {
namespace {

__extension__ using Wide = unsigned __int128;    // a 64-bit rate times a sum of weights

constexpr double kExact = 1e-9;
// A device with more shares than this is only asked for what can be measured, once the weights add up to more than
// that.
constexpr std::uint32_t kManyShares = 256;
constexpr std::uint64_t kManyInAll = 1024;
constexpr double kMeasurable = 0.001;
// Bounds the search: sums of weights times distinct targets.
constexpr std::uint64_t kWork = std::uint64_t{1} << 17U;
// All ways of rounding are tried for up to so many groups.
constexpr std::size_t kFewGroups = 8;
// Guarantees that cannot be met are lowered in steps of this part of them.
constexpr std::uint64_t kParts = kAllGuarantees;

struct Group {
    WeightTarget target;
    std::uint32_t count = 0;
    // For the sum of weights that is looked at:
    double wanted = 0;          // its weight, were it not a whole number
    std::uint64_t least = 1;    // weight that meets the guarantee
};

// Weights of the groups, and how good they are.
struct Candidate {
    std::vector<std::uint32_t> weights;
    std::uint64_t sum = 0;
    double deviation = 0;    // total
    double worst = 0;        // relative, of one
};

bool is_better(const Candidate& a, const Candidate& b)
{
    if (std::abs(a.deviation - b.deviation) > kExact) {
        return a.deviation < b.deviation;
    }
    return a.sum != b.sum ? a.sum < b.sum : a.worst < b.worst - kExact;
}

// Goes through the sums that the weights can have. For each, every weight that is wanted is a number, and the weights
// are those numbers rounded. Most sums are left out at once, because rounding alone costs more than the best so far.
class Search {
public:
    Search(const std::vector<WeightGroup>& groups, const WeightLimits& limits)
        : capacity_(limits.capacity_kbps), max_share_(limits.max_share), most_in_all_(limits.most_in_all)
    {
        for (const auto& group : groups) {
            groups_.push_back({group.target, group.count});
        }
        for (const auto& group : groups_) {
            count_ += group.count;
            fixed_ += group.target.fixed ? group.count : 0;
            guarantees_ = guarantees_ || group.target.min_kbps != 0;
        }
    }

    [[nodiscard]] Candidate run()
    {
        const std::uint64_t first = meet_guarantees();
        const std::uint64_t last = largest_sum();
        const bool is_small = max_share_ <= kManyShares;
        take_least(first);
        if (is_small && first <= last) {
            try_sum(std::clamp(where_largest_is_full(), first, last));
        }
        const std::uint64_t affordable = kWork / groups_.size();
        const std::uint64_t every = is_small ? affordable : std::min(affordable / 4, kManyInAll);
        std::uint64_t done = 0;
        for (std::uint64_t sum = first; sum <= last && !is_done(sum); ++done) {
            try_sum(sum);
            // Every sum where that is cheap enough, then ever coarser; the last in any case.
            const std::uint64_t next = sum + 1 + (done < every ? 0 : sum / (is_small ? 64 : 16));
            sum = sum < last ? std::min(next, last) : next;
        }
        return std::move(*best_);
    }

    // What the fractions are parts of.
    [[nodiscard]] double whole(std::uint64_t sum) const
    {
        return static_cast<double>(guarantees_ ? sum : std::max<std::uint64_t>(sum - fixed_, 1));
    }

    // The part of every guarantee that is met, of kParts.
    [[nodiscard]] std::uint64_t guarantees_met() const { return met_; }

private:
    [[nodiscard]] std::uint64_t least_weight(const WeightTarget& target, std::uint64_t sum) const
    {
        if (target.min_kbps == 0) {
            return 1;
        }
        if (target.min_kbps <= std::numeric_limits<std::uint64_t>::max() / sum) {
            const std::uint64_t product = target.min_kbps * sum;
            return product / capacity_ + (product % capacity_ == 0 ? 0 : 1);
        }
        const Wide rounded_up = (Wide{target.min_kbps} * sum + capacity_ - 1) / capacity_;
        return static_cast<std::uint64_t>(std::min(rounded_up, Wide{std::numeric_limits<std::uint32_t>::max()}));
    }

    // The largest sum at which no guarantee needs more than the largest weight.
    [[nodiscard]] std::uint64_t largest_sum() const
    {
        Wide sum = std::min(Wide{max_share_} * (count_ - fixed_) + fixed_, Wide{most_in_all_});
        for (const auto& [target, count, wanted, least] : groups_) {
            if (target.min_kbps != 0) {
                sum = std::min(sum, Wide{max_share_} * capacity_ / target.min_kbps);
            }
        }
        return static_cast<std::uint64_t>(sum);
    }

    // The least sum that has room for the weight of every guarantee; empty: there is none. A larger sum never asks for
    // smaller weights, so what one sum lacks is the next to try.
    [[nodiscard]] std::optional<std::uint64_t> least_sum() const
    {
        const auto start = where_guarantees_begin();
        if (!start) {
            return std::nullopt;
        }
        const std::uint64_t last = largest_sum();
        std::uint64_t steps = kWork / groups_.size();
        for (std::uint64_t sum = *start; sum <= last;) {
            std::uint64_t needed = 0;
            for (const auto& [target, count, wanted, least] : groups_) {
                needed += least_weight(target, sum) * count;
            }
            if (needed <= sum) {
                return sum;
            }
            sum = steps > 0 ? needed : std::max(needed, sum + sum / 64);
            steps -= steps > 0 ? 1 : 0;
        }
        return std::nullopt;
    }

    // No smaller sum has room for all.
    [[nodiscard]] std::optional<std::uint64_t> where_guarantees_begin() const
    {
        Wide guaranteed = 0;
        std::uint64_t others = 0;    // have a weight of at least 1
        std::uint64_t divisor = capacity_;
        for (const auto& [target, count, wanted, least] : groups_) {
            guaranteed += Wide{target.min_kbps} * count;
            others += target.min_kbps == 0 ? count : 0;
            divisor = std::gcd(divisor, target.min_kbps);
        }
        if (guaranteed > capacity_ || (guaranteed == capacity_ && others != 0)) {
            return std::nullopt;
        }
        if (guaranteed == capacity_) {
            return std::max(count_, capacity_ / divisor);    // nothing may be rounded up
        }
        const std::uint64_t left = capacity_ - static_cast<std::uint64_t>(guaranteed);
        const Wide start = (Wide{others} * capacity_ + left - 1) / left;
        return std::max(count_, static_cast<std::uint64_t>(std::min(start, Wide{1} << 62U)));
    }

    // The sum to begin with. Lowers the guarantees if need be.
    std::uint64_t meet_guarantees()
    {
        if (const auto sum = least_sum()) {
            return *sum;
        }
        std::vector<std::uint64_t> asked;
        for (const auto& group : groups_) {
            asked.push_back(group.target.min_kbps);
        }
        const auto lower_to = [&](std::uint64_t part) {
            for (std::size_t i = 0; i < groups_.size(); ++i) {
                groups_[i].target.min_kbps = static_cast<std::uint64_t>(Wide{asked[i]} * part / kParts);
            }
            return least_sum();
        };
        std::uint64_t possible = 0;
        for (std::uint64_t step = kParts / 2; step > 0; step /= 2) {
            possible += lower_to(possible + step) ? step : 0;
        }
        met_ = possible;
        return lower_to(possible).value_or(count_);
    }

    // They may not be good, but they meet the guarantees.
    void take_least(std::uint64_t sum)
    {
        std::vector<std::uint32_t> weights;
        weights.reserve(groups_.size());
        for (const auto& group : groups_) {
            weights.push_back(static_cast<std::uint32_t>(least_weight(group.target, sum)));
        }
        take(sum, std::move(weights));
    }

    // Where small weights are lifted to 1 this is near the best: a smaller sum lifts them further.
    [[nodiscard]] std::uint64_t where_largest_is_full() const
    {
        double largest = 0;
        for (const auto& group : groups_) {
            largest = std::max(largest, group.target.fraction);
        }
        const auto most = static_cast<double>(std::uint64_t{max_share_} * count_);
        return fixed_ + static_cast<std::uint64_t>(std::min(largest > 0 ? max_share_ / largest : most, most));
    }

    // A larger sum only has more siblings that would need more than the largest weight, or nobody could measure it.
    [[nodiscard]] bool is_done(std::uint64_t sum) const
    {
        const bool is_near = best_->deviation <= kMeasurable && best_->worst <= kMeasurable;
        if (best_->deviation <= kExact ? sum > best_->sum : is_near && max_share_ > kManyShares && sum > kManyInAll) {
            return true;
        }
        double beyond = 0;
        double wanted = 0;
        for (const auto& group : groups_) {
            const double weight = group.target.fraction * whole(sum);
            beyond += std::max(weight - max_share_, 0.0) * group.count;
            wanted += weight * group.count;
        }
        return 2 * beyond + static_cast<double>(sum - fixed_) - wanted > (best_->deviation + kExact) * whole(sum);
    }

    void try_sum(std::uint64_t sum)
    {
        const auto chosen = static_cast<double>(sum - fixed_);
        double rounding = 0;
        double lifted = 0;
        double wanted = 0;
        for (auto& group : groups_) {
            group.least = least_weight(group.target, sum);
            if (group.target.fixed) {
                continue;
            }
            group.wanted = group.target.fraction * whole(sum);
            wanted += group.wanted * group.count;
            const double lacks = static_cast<double>(group.least) - group.wanted;
            lifted += std::max(lacks, 0.0) * group.count;
            rounding += std::max(lacks, std::abs(group.wanted - std::round(group.wanted))) * group.count;
        }
        // What some have too much, others have too little.
        const double bound = std::max(rounding, 2 * lifted - (chosen - wanted));
        if (bound > (best_->deviation + kExact) * whole(sum)) {
            return;
        }
        round(sum, find_scale(chosen));
    }

    // What they take if every weight that is wanted is multiplied by `scale`, within what it may be.
    [[nodiscard]] double taken(double scale) const
    {
        double sum = 0;
        for (const auto& group : groups_) {
            sum += group.target.fixed ? 0 : room(group, scale) * group.count;
        }
        return sum;
    }

    [[nodiscard]] double room(const Group& group, double scale) const
    {
        return std::clamp(group.wanted * scale, static_cast<double>(group.least), static_cast<double>(max_share_));
    }

    // The scale at which they take what there is to give: more than that is wanted where small weights are lifted to 1,
    // less where large ones are beyond the device's range.
    [[nodiscard]] double find_scale(double chosen) const
    {
        constexpr int kHalvings = 48;
        const double missing = chosen - taken(1);
        if (std::abs(missing) <= kExact * chosen) {
            return 1;
        }
        double low = missing < 0 ? 0 : 1;
        double high = missing < 0 ? 1 : max_share_;
        for (int i = 0; i < kHalvings; ++i) {
            const double middle = (low + high) / 2;
            (taken(middle) <= chosen ? low : high) = middle;
        }
        return low;
    }

    void round(std::uint64_t sum, double scale)
    {
        std::vector<std::uint32_t> weights(groups_.size(), 1);
        std::vector<std::size_t> open;    // could be rounded up as well
        std::uint64_t used = fixed_;
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            if (groups_[i].target.fixed) {
                continue;
            }
            const double weight = room(groups_[i], scale);
            weights[i] = static_cast<std::uint32_t>(weight + kExact);
            used += std::uint64_t{weights[i]} * groups_[i].count;
            if (weight - weights[i] > kExact && weights[i] < max_share_) {
                open.push_back(i);
            }
        }
        if (open.size() <= kFewGroups) {
            round_in_all_ways(sum, weights, open);
        } else {
            round_cheapest(sum, std::move(weights), open, sum - std::min(used, sum));
        }
    }

    void round_in_all_ways(std::uint64_t sum, const std::vector<std::uint32_t>& weights,
                           const std::vector<std::size_t>& open)
    {
        for (std::uint32_t ways = 1U << open.size(); ways-- > 0;) {
            auto rounded = weights;
            for (std::size_t i = 0; i < open.size(); ++i) {
                rounded[open[i]] += ways >> i & 1U;
            }
            take(sum, std::move(rounded));
        }
    }

    // Rounds up where that costs least, as far as the sum allows.
    void round_cheapest(std::uint64_t sum, std::vector<std::uint32_t> weights, const std::vector<std::size_t>& open,
                        std::uint64_t left)
    {
        const auto cost = [&](std::size_t i) {
            return std::abs(weights[i] + 1 - groups_[i].wanted) - std::abs(weights[i] - groups_[i].wanted);
        };
        std::vector<std::pair<double, std::size_t>> order;
        order.reserve(open.size());
        for (const std::size_t i : open) {
            order.emplace_back(cost(i), i);
        }
        std::sort(order.begin(), order.end());
        for (const auto& [ignored, i] : order) {
            if (groups_[i].count <= left) {
                left -= groups_[i].count;
                ++weights[i];
            }
        }
        take(sum, std::move(weights));
    }

    // Rounded weights may have another sum than they were made for. A smaller one only helps the guarantees.
    void take(std::uint64_t meant, std::vector<std::uint32_t> weights)
    {
        Candidate candidate;
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            candidate.sum += std::uint64_t{weights[i]} * groups_[i].count;
        }
        if (best_ && candidate.sum > most_in_all_) {
            return;
        }
        const double all = whole(candidate.sum);
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            const auto& [target, count, wanted, least] = groups_[i];
            if (target.fixed) {
                continue;
            }
            if (candidate.sum > meant && weights[i] < least_weight(target, candidate.sum)) {
                return;
            }
            const double deviation = std::abs(weights[i] / all - target.fraction);
            candidate.deviation += deviation * count;
            if (target.fraction > 0) {
                candidate.worst = std::max(candidate.worst, deviation / target.fraction);
            }
        }
        candidate.weights = std::move(weights);
        if (!best_ || is_better(candidate, *best_)) {
            best_ = std::move(candidate);
        }
    }

    std::vector<Group> groups_;
    std::uint64_t capacity_;
    std::uint32_t max_share_;
    std::uint64_t most_in_all_;
    std::uint64_t count_ = 0;
    std::uint64_t fixed_ = 0;
    std::uint64_t met_ = kParts;
    bool guarantees_ = false;
    std::optional<Candidate> best_;
};

}    // namespace

FoundWeights search_weights(const std::vector<WeightGroup>& groups, const WeightLimits& limits)
{
    Search search(groups, limits);
    Candidate found = search.run();
    const double whole = search.whole(found.sum);
    return {std::move(found.weights), found.sum, whole, found.deviation, search.guarantees_met()};
}

}    // namespace rdmaqos::compiling
