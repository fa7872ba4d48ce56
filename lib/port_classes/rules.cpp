#include "lib/port_classes/rules.h"

#include <algorithm>

namespace rdmaqos::port_classes {

std::optional<Bandwidth> rounded_down(const RateSteps& steps, Bandwidth rate)
{
    Bandwidth below;    // the largest rate of the ranges that were passed
    for (const RateSteps::Range& range : steps.ranges) {
        if (rate <= range.up_to) {
            const std::uint64_t step = range.step.kbps();
            const Bandwidth rounded = Bandwidth::from_kbps(rate.kbps() / step * step);
            // A wider step may round to what only a finer one of the range below has.
            const Bandwidth largest = std::max(rounded, below);
            return largest.is_zero() ? std::nullopt : std::optional(largest);
        }
        below = range.up_to;
    }
    return below.is_zero() ? std::nullopt : std::optional(below);
}

}    // namespace rdmaqos::port_classes
