#include "policy/opensm_file.h"

#include <algorithm>
#include <utility>

#include "lib/base/net.h"

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

PKeyRange as_pkeys(const Range& range)
{
    const Interval whole = range.interval();
    const std::uint64_t first = whole.first & kPKeyMask;
    const std::uint64_t last = whole.last & kPKeyMask;
    const Interval interval{std::min(first, last), std::max(first, last)};
    const bool crosses = (whole.first >> 15U) != (whole.last >> 15U);
    return {interval, crosses && interval != Interval{0, kPKeyMask}};
}

IntervalSet pkeys_of(const std::vector<Range>& ranges)
{
    return collect(ranges, [](const Range& range) { return as_pkeys(range).interval; });
}

}    // namespace rdmaqos::opensm
