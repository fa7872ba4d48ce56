// What the driver of a port accepts, as far as traffic classes are planned by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/units.h"

namespace rdmaqos::port_classes {

// Maximum rates of classes are multiples of a step, which grows with the rate.
struct RateSteps {
    struct Range {
        Bandwidth up_to;    // the largest rate of this range
        Bandwidth step;

        friend bool operator==(const Range&, const Range&) = default;
    };
    std::vector<Range> ranges;    // ascending, not empty; the last one ends with the largest rate of all

    friend bool operator==(const RateSteps&, const RateSteps&) = default;
};

// What a set does besides what it says, in words, to stand behind "this": "takes the link down for about 3 s". Empty:
// nothing that anybody would notice.
struct Disruptions {
    std::string ets;
    std::string max_rates;
    std::string app;          // each entry that is set or deleted
    std::string first_app;    // besides: the first entry with a DSCP
    std::string last_app;     // besides: its last one is deleted

    friend bool operator==(const Disruptions&, const Disruptions&) = default;
};

struct Rules {
    std::string driver;    // "mlx5_core"
    bool sets_ets = true;
    bool sets_dscp = true;              // entries of the application table for a DSCP
    bool deletes_dscp = true;           // they can be deleted, too
    bool sum_is_100 = true;             // else: the weights sum to 100 or less
    bool has_strict = true;             // a class can be strict
    bool zero_weights = true;           // a class that divides by weight can have none
    bool priority_is_class = false;     // priority p is in class p, always
    bool contiguous_classes = false;    // class 0 to the highest in use, none left out
    bool delete_before_remap = false;
    bool first_app_resets_ets = false;    // so the first DSCP is mapped before weights are set
    // What a DSCP that has no entry gets is not known (the firmware's map), and may be a priority that we use.
    bool unlisted_unknown = false;
    bool needs_host_dcbx = false;          // nothing can be set while the firmware or a daemon negotiates
    std::optional<RateSteps> max_rates;    // empty: a class cannot have one
    Disruptions disruptions;

    friend bool operator==(const Rules&, const Rules&) = default;
};

// A maximum rate as the driver has it: the largest that is not above. Nothing below the lowest step.
[[nodiscard]] std::optional<Bandwidth> rounded_down(const RateSteps& steps, Bandwidth rate);

}    // namespace rdmaqos::port_classes
