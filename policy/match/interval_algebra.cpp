#include "policy/match/interval_algebra.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace rdmaqos {

bool includes(const IntervalSet& wide, Interval narrow)
{
    // Neighbours are one interval, so it is one that includes all or none.
    const auto& all = wide.intervals();
    const auto behind = std::upper_bound(all.begin(), all.end(), narrow.first,
                                         [](std::uint64_t value, const Interval& one) { return value < one.first; });
    return behind != all.begin() && std::prev(behind)->last >= narrow.last;
}

bool includes(const IntervalSet& wide, const IntervalSet& narrow)
{
    return std::ranges::all_of(narrow.intervals(), [&](const Interval& one) { return includes(wide, one); });
}

IntervalSet intersection(const IntervalSet& a, const IntervalSet& b)
{
    std::vector<Interval> both;
    auto in_a = a.intervals().begin();
    auto in_b = b.intervals().begin();
    while (in_a != a.intervals().end() && in_b != b.intervals().end()) {
        const Interval common{std::max(in_a->first, in_b->first), std::min(in_a->last, in_b->last)};
        if (common.first <= common.last) {
            both.push_back(common);
        }
        if (in_a->last < in_b->last) {
            ++in_a;
        } else {
            ++in_b;
        }
    }
    return IntervalSet(std::move(both));
}

}    // namespace rdmaqos
