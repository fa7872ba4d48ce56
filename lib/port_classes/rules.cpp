#include "lib/port_classes/rules.h"

#include <algorithm>

namespace rdmaqos::port_classes {

Rules rules_of(const dcb::Driver* driver)
{
    Rules rules;
    if (driver == nullptr) {
        rules.sets_ets = false;
        rules.sets_dscp = false;
        return rules;
    }
    rules.driver = driver->name;
    rules.sets_ets = driver->ets == dcb::Access::Write;
    rules.sets_dscp = driver->takes(dcb::Selector::Dscp);
    rules.replaces_dscp = driver->replaces_apps;
    rules.priority_is_class = driver->dscp_is_class;
    rules.contiguous_classes = driver->contiguous_classes;
    rules.first_app_resets_ets = driver->first_app_resets_ets;
    rules.unlisted_unknown = driver->unlisted_dscp_unknown;
    rules.host_dcbx = driver->host_dcbx;
    if (driver->max_rates == dcb::Access::Write && !driver->rate_steps.empty()) {
        rules.max_rates = driver->rate_steps;
    }
    rules.disrupts = driver->disrupts;
    return rules;
}

std::optional<Bandwidth> rounded_down(const RateSteps& steps, Bandwidth rate)
{
    Bandwidth below;    // the largest rate of the ranges that were passed
    for (const dcb::RateStep& range : steps) {
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
