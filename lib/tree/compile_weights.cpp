#include "lib/tree/compile_weights.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "lib/tree/compile_weight_search.h"
#include "lib/tree/max_min.h"

namespace rdmaqos::compiling {
namespace {

__extension__ using Wide = unsigned __int128;    // a 64-bit rate times a sum of weights

// Deviations below this come from counting rates in kbit/s.
constexpr double kExactEnough = 1e-6;
// Of those that cannot all have what they can use, so many are tried as the ones that go without.
constexpr std::size_t kMostWithout = 8;

// A fraction is part of a key: it has to be a number, which the comparison is false for where it is not.
WeightTarget normalized(WeightTarget target)
{
    target.fraction = target.fixed ? 0 : target.fraction > 0 ? std::min(target.fraction, 1.0) : 0;
    target.min_kbps = target.fixed ? 0 : target.min_kbps;
    return target;
}

// One way to choose them: the weights of the groups, and how good they are.
struct Attempt {
    std::vector<std::uint32_t> weights;
    std::vector<double> reached;    // by one of each kind
    double deviation = 0;
    std::uint64_t guarantees_met = 0;
    bool is_bounded = false;    // others need so large weights that these could not be larger

    [[nodiscard]] bool is_better_than(const Attempt& other) const
    {
        return guarantees_met != other.guarantees_met ? guarantees_met > other.guarantees_met
                                                      : deviation < other.deviation - kExactEnough;
    }
};

// Of a group that wants less than it can use, members may differ in what that is.
struct Kind {
    std::size_t group = 0;
    std::optional<std::uint64_t> most;    // kbit/s, as of a target
    std::uint32_t count = 0;
};

class Choice {
public:
    Choice(std::span<const WeightTarget> targets, std::uint64_t capacity, std::uint32_t max_share)
        : capacity_(std::max<std::uint64_t>(capacity, 1)), max_share_(max_share)
    {
        std::map<std::tuple<double, std::uint64_t, bool, std::uint64_t>, std::size_t> group_of_key;
        std::map<std::pair<std::size_t, std::optional<std::uint64_t>>, std::size_t> kind_of_key;
        has_fixed_ = std::any_of(targets.begin(), targets.end(),
                                 [](const WeightTarget& target) { return target.fixed && target.most_kbps != 0; });
        for (const auto& target : targets) {
            WeightTarget one = normalized(target);
            if (has_fixed_ && one.most_kbps != 0) {
                one.most_kbps.reset();
            }
            const auto full = has_its_fill(one) ? *one.most_kbps : std::numeric_limits<std::uint64_t>::max();
            const auto [entry, is_new] = group_of_key.try_emplace(
                std::tuple(one.fraction, one.min_kbps, one.fixed, full), groups_.size());
            if (is_new) {
                add(one);
            }
            ++groups_[entry->second].count;
            const auto [kind, is_new_kind] = kind_of_key.try_emplace(std::pair(entry->second, one.most_kbps),
                                                                     kinds_.size());
            if (is_new_kind) {
                kinds_.push_back({entry->second, one.most_kbps});
            }
            ++kinds_[kind->second].count;
            kind_of_.push_back(kind->second);
        }
        sort_sated();
    }

    [[nodiscard]] Weights run()
    {
        if (competing_.empty() && sated_.empty()) {
            return nobody();
        }
        Attempt best = search();
        for (std::size_t round = 0; round < kMostWithout && move_those_that_are_full(best); ++round) {
            if (Attempt other = search(); other.is_better_than(best)) {
                best = std::move(other);
            }
        }
        return weights_of(best);
    }

private:
    [[nodiscard]] Attempt search() const
    {
        std::optional<Attempt> best;
        // Where all can have what they can use, their weights are in proportion to it.
        for (std::size_t without = competing_.empty() ? sated_.size() : 0; without <= sated_.size();) {
            auto attempt = attempt_without(without);
            if (attempt && (!best || attempt->is_better_than(*best))) {
                best = std::move(attempt);
            }
            if (best && best->guarantees_met == kAllGuarantees &&
                (!best->is_bounded || best->deviation <= kExactEnough)) {
                break;
            }
            without = without < kMostWithout ? without + 1 : std::max(without + 1, sated_.size());
        }
        return std::move(*best);    // of the last attempt there always is one
    }

    // Who wants less than it can use, but has that by the least weight already, leaves the others no more for it.
    bool move_those_that_are_full(const Attempt& attempt)
    {
        const auto is_full = [&](std::size_t group) {
            const auto kind = std::ranges::find(kinds_, group, &Kind::group);
            const double kbps = attempt.reached[static_cast<std::size_t>(kind - kinds_.begin())] *
                                static_cast<double>(capacity_);
            return kind->count == groups_[group].count && kind->most && kbps + 1 >= static_cast<double>(*kind->most);
        };
        const auto full = std::stable_partition(competing_.begin(), competing_.end(), std::not_fn(is_full));
        const bool moved = full != competing_.end();
        sated_.insert(sated_.end(), full, competing_.end());
        competing_.erase(full, competing_.end());
        sort_sated();
        return moved;
    }

    void sort_sated()
    {
        std::stable_sort(sated_.begin(), sated_.end(), [this](std::size_t a, std::size_t b) {
            return *groups_[a].target.most_kbps > *groups_[b].target.most_kbps;
        });
    }

    // All that it can use is wanted for it. The capacity is rounded down to whole kbit/s.
    [[nodiscard]] bool has_its_fill(const WeightTarget& target) const
    {
        return target.most_kbps &&
               target.fraction * static_cast<double>(capacity_) + 1 >= static_cast<double>(*target.most_kbps);
    }

    void add(const WeightTarget& target)
    {
        const std::size_t index = groups_.size();
        groups_.push_back({target, 0});
        if (target.most_kbps == 0) {
            return;    // nobody is there
        }
        (has_its_fill(target) ? sated_ : competing_).push_back(index);
    }

    // The largest `without` of those that want what they can use compete like the others: they are not sure of it.
    [[nodiscard]] std::optional<Attempt> attempt_without(std::size_t without) const
    {
        std::vector<std::size_t> open = competing_;
        open.insert(open.end(), sated_.begin(), sated_.begin() + static_cast<std::ptrdiff_t>(without));
        WeightLimits limits{capacity_, max_share_};
        for (std::size_t i = without; i < sated_.size(); ++i) {
            const auto& [target, count] = groups_[sated_[i]];
            const Wide used = Wide{*target.most_kbps} * count;
            limits.capacity_kbps -= static_cast<std::uint64_t>(std::min(used, Wide{limits.capacity_kbps - 1}));
        }
        if (without < sated_.size()) {
            const Wide most = Wide{max_share_} * limits.capacity_kbps / *groups_[sated_[without]].target.most_kbps;
            limits.most_in_all = static_cast<std::uint64_t>(std::min(most, Wide{1} << 62U));
        }
        const auto groups = parts_among(open);
        std::uint64_t count = 0;
        for (const auto& group : groups) {
            count += group.count;
        }
        if (count > limits.most_in_all) {
            return std::nullopt;
        }
        const FoundWeights found = search_weights(groups, limits);
        Attempt attempt;
        attempt.guarantees_met = found.guarantees_met;
        attempt.is_bounded = limits.most_in_all < count * max_share_;
        attempt.weights.assign(groups_.size(), 1);
        for (std::size_t i = 0; i < open.size(); ++i) {
            attempt.weights[open[i]] = found.weights[i];
        }
        for (std::size_t i = without; i < sated_.size(); ++i) {
            attempt.weights[sated_[i]] = enough_for(*groups_[sated_[i]].target.most_kbps, found.sum, limits);
        }
        has_fixed_ ? judge_by_weights(found, attempt) : judge(attempt);
        return attempt;
    }

    // What they want, in parts of what they all want together.
    [[nodiscard]] std::vector<WeightGroup> parts_among(const std::vector<std::size_t>& open) const
    {
        std::vector<WeightGroup> groups;
        double sum = 0;
        for (const std::size_t index : open) {
            groups.push_back(groups_[index]);
            sum += groups_[index].target.fraction * groups_[index].count;
        }
        // Parts of the whole stay as they are, so that equal ones stay equal.
        if (sum > 0 && std::abs(sum - 1) > kExactEnough && !has_fixed_) {
            for (auto& group : groups) {
                group.target.fraction = std::min(group.target.fraction / sum, 1.0);
            }
        }
        return groups;
    }

    // The smallest weight with which one gets so much, beside others with this sum of weights.
    [[nodiscard]] std::uint32_t enough_for(std::uint64_t kbps, std::uint64_t sum, const WeightLimits& limits) const
    {
        const Wide least = (Wide{kbps} * sum + limits.capacity_kbps - 1) / limits.capacity_kbps;
        return static_cast<std::uint32_t>(std::clamp(least, Wide{1}, Wide{max_share_}));
    }

    // Only where there is a device's default: what that can use is not considered.
    void judge_by_weights(const FoundWeights& found, Attempt& attempt) const
    {
        attempt.deviation = found.deviation;
        for (const auto& kind : kinds_) {
            attempt.reached.push_back(kind.most == 0 ? 0 : attempt.weights[kind.group] / found.whole);
        }
    }

    // As the device divides its capacity.
    void judge(Attempt& attempt) const
    {
        std::vector<Claim> claims;
        for (const auto& kind : kinds_) {
            const double most = kind.most ? static_cast<double>(*kind.most) : std::numeric_limits<double>::infinity();
            claims.push_back({most * kind.count, std::uint64_t{attempt.weights[kind.group]} * kind.count});
        }
        const auto rates = divide_max_min(static_cast<double>(capacity_), claims);
        for (std::size_t i = 0; i < kinds_.size(); ++i) {
            const double reached = rates[i] / kinds_[i].count / static_cast<double>(capacity_);
            attempt.reached.push_back(reached);
            attempt.deviation += std::abs(reached - groups_[kinds_[i].group].target.fraction) * kinds_[i].count;
        }
    }

    [[nodiscard]] Weights weights_of(const Attempt& attempt) const
    {
        Weights result;
        result.total_deviation = attempt.deviation;
        for (const std::size_t kind : kind_of_) {
            result.weights.push_back(attempt.weights[kinds_[kind].group]);
            result.reached.push_back(attempt.reached[kind]);
        }
        return result;
    }

    [[nodiscard]] Weights nobody() const
    {
        Weights result;
        result.weights.assign(kind_of_.size(), 1);
        result.reached.assign(kind_of_.size(), 0);
        return result;
    }

    std::uint64_t capacity_;
    std::uint32_t max_share_;
    bool has_fixed_ = false;
    std::vector<WeightGroup> groups_;
    std::vector<Kind> kinds_;
    std::vector<std::size_t> kind_of_;      // by target
    std::vector<std::size_t> competing_;    // groups that could use more than they get
    std::vector<std::size_t> sated_;        // groups that get what they can use, the largest first
};

}    // namespace

Weights choose_weights(std::span<const WeightTarget> targets, std::uint64_t capacity_kbps, std::uint32_t max_share)
{
    return Choice(targets, capacity_kbps, max_share).run();
}

}    // namespace rdmaqos::compiling
