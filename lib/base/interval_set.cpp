#include "lib/base/interval_set.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos {

IntervalSet::IntervalSet(std::vector<Interval> intervals) : intervals_(std::move(intervals))
{
    for (auto& interval : intervals_) {
        if (interval.first > interval.last) {
            std::swap(interval.first, interval.last);
        }
    }
    std::sort(intervals_.begin(), intervals_.end());
    std::size_t kept = 0;
    for (std::size_t i = 1; i < intervals_.size(); ++i) {
        Interval& previous = intervals_[kept];
        const bool touches = previous.last == std::numeric_limits<std::uint64_t>::max() ||
                             intervals_[i].first <= previous.last + 1;
        if (touches) {
            previous.last = std::max(previous.last, intervals_[i].last);
        } else {
            intervals_[++kept] = intervals_[i];
        }
    }
    if (!intervals_.empty()) {
        intervals_.resize(kept + 1);
    }
}

void IntervalSet::insert(Interval interval)
{
    auto all = std::move(intervals_);
    all.push_back(interval);
    *this = IntervalSet(std::move(all));
}

bool IntervalSet::contains(std::uint64_t value) const
{
    return intersects({value, value});
}

bool IntervalSet::intersects(Interval interval) const
{
    const auto after = std::upper_bound(intervals_.begin(), intervals_.end(), interval.last,
                                        [](std::uint64_t v, const Interval& i) { return v < i.first; });
    return after != intervals_.begin() && std::prev(after)->last >= interval.first;
}

std::optional<std::uint64_t> IntervalSet::lowest() const
{
    if (intervals_.empty()) {
        return std::nullopt;
    }
    return intervals_.front().first;
}

std::string to_string(const IntervalSet& set, NumberBase base)
{
    const auto number = [base](std::uint64_t value) {
        return base == NumberBase::Hex ? fmt::format("{:#x}", value) : fmt::format("{}", value);
    };
    std::string text;
    for (const auto& interval : set.intervals()) {
        if (!text.empty()) {
            text += ", ";
        }
        text += number(interval.first);
        if (interval.last != interval.first) {
            text += '-';
            text += number(interval.last);
        }
    }
    return text;
}

}    // namespace rdmaqos
