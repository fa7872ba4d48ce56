// Sets of intervals compared.
#pragma once

#include "lib/base/interval_set.h"

namespace rdmaqos {

[[nodiscard]] bool includes(const IntervalSet& wide, Interval narrow);
[[nodiscard]] bool includes(const IntervalSet& wide, const IntervalSet& narrow);
[[nodiscard]] IntervalSet intersection(const IntervalSet& a, const IntervalSet& b);

}    // namespace rdmaqos
