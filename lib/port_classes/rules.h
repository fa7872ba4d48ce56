// What a driver of a port accepts, as far as planning goes by it: its row of lib/dcb, and what follows from that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lib/base/units.h"
#include "lib/dcb/driver.h"

namespace rdmaqos::port_classes {

// Maximum rates of classes are multiples of a step, which grows with the rate. Not empty.
using RateSteps = std::span<const dcb::RateStep>;

struct Rules {
    std::string driver;    // "mlx5_core"; empty: not known
    bool sets_ets = true;
    bool sets_dscp = true;                // entries of the application table for a DSCP
    bool replaces_dscp = true;            // an entry that is set replaces the one of its DSCP; else delete that before
    bool priority_is_class = false;       // of a DSCP: it is in the class with the number of its priority
    bool contiguous_classes = false;      // class 0 to the highest in use, none left out
    bool first_app_resets_ets = false;    // and the last one that is deleted; so weights are set behind them
    // What a DSCP that has no entry gets is not known (the firmware's map), and may be a priority that we use.
    bool unlisted_unknown = false;
    dcb::HostDcbx host_dcbx = dcb::HostDcbx::Always;
    std::optional<RateSteps> max_rates;    // empty: a class cannot have one
    dcb::Disruptions disrupts;

    // The mode of DCBX is ours to set. Where the driver only advises host mode, the firmware may overwrite us
    // otherwise.
    [[nodiscard]] bool sets_dcbx() const
    {
        return host_dcbx == dcb::HostDcbx::Settable || host_dcbx == dcb::HostDcbx::Advised;
    }
};

// Of a driver that has no row: `nullptr`, which sets nothing.
[[nodiscard]] Rules rules_of(const dcb::Driver* driver);

// A maximum rate as the driver has it: the largest that is not above. Nothing below the lowest step.
[[nodiscard]] std::optional<Bandwidth> rounded_down(const RateSteps& steps, Bandwidth rate);

}    // namespace rdmaqos::port_classes
