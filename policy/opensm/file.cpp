#include "policy/opensm/file.h"

#include <algorithm>
#include <utility>

#include "policy/model/ib.h"

namespace rdmaqos::opensm {
namespace {

template <typename Convert>
IntervalSet collect(const std::vector<Range>& ranges, Convert convert)
{
    std::vector<Interval> intervals;
    intervals.reserve(ranges.size());
    for (const Range& range : ranges) {
        intervals.push_back(convert(range));
    }
    return IntervalSet(std::move(intervals));
}

}    // namespace

Interval Range::interval() const
{
    const std::uint64_t second = last ? last->value : first.value;
    return {std::min(first.value, second), std::max(first.value, second)};
}

IntervalSet intervals_of(const std::vector<Range>& ranges)
{
    return collect(ranges, [](const Range& range) { return range.interval(); });
}

IntervalSet pkeys_of(const std::vector<Range>& ranges)
{
    return collect(ranges, [](const Range& range) { return mask_pkeys(range.interval()).interval; });
}

}    // namespace rdmaqos::opensm
