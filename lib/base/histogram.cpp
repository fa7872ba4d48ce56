#include "lib/base/histogram.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace rdmaqos {

void Histogram::observe(Duration time)
{
    const Duration passed = std::max(time, Duration::zero());
    const auto* bucket = std::lower_bound(kBounds.begin(), kBounds.end(), passed);
    ++buckets_.at(static_cast<std::size_t>(bucket - kBounds.begin()));
    nanoseconds_ += static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count());
}

std::uint64_t Histogram::count() const
{
    return std::accumulate(buckets_.begin(), buckets_.end(), std::uint64_t{0});
}

double Histogram::sum_seconds() const
{
    return static_cast<double>(nanoseconds_) / 1e9;
}

std::uint64_t Histogram::at_most(std::size_t bound) const
{
    const auto end = buckets_.begin() + static_cast<std::ptrdiff_t>(bound) + 1;
    return std::accumulate(buckets_.begin(), end, std::uint64_t{0});
}

}    // namespace rdmaqos
