// From what a port is set to, to what it shall be set to: single sets, in an order in which traffic loses its class for
// as short as possible. After each step, also if the daemon is killed behind it, difference() of what the port then has
// continues to the same end.
//
//     ETS and maximum rates first, then the entries of the application table that are set, then those that are deleted.
//     Where the first entry of a DSCP resets ETS, that entry comes before.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lib/dcb/port_settings.h"
#include "lib/port_classes/rules.h"

namespace rdmaqos::port_classes {

struct SetEts {
    dcb::Ets ets;    // classes, weights and the class of each priority; maximum rates are not meant

    friend bool operator==(const SetEts&, const SetEts&) = default;
};

struct SetMaxRates {
    dcb::Ets ets;    // only the maximum rates are meant; empty: none

    friend bool operator==(const SetMaxRates&, const SetMaxRates&) = default;
};

struct SetApp {
    dcb::AppEntry entry;    // replaces what its DSCP had, unless the driver needs that deleted first

    friend bool operator==(const SetApp&, const SetApp&) = default;
};

struct DeleteApp {
    dcb::AppEntry entry;

    friend bool operator==(const DeleteApp&, const DeleteApp&) = default;
};

using Set = std::variant<SetEts, SetMaxRates, SetApp, DeleteApp>;

struct Step {
    Set set;
    std::string words;         // "maps DSCP 10 to priority 3"
    std::string disruption;    // "takes the link down for about 3 s"; empty: none

    friend bool operator==(const Step&, const Step&) = default;
};

// Empty: nothing is to be done. What a driver cannot set (PFC, buffers, DCBX, entries with another selector than the
// DSCP) is not compared.
[[nodiscard]] std::vector<Step> difference(const dcb::PortSettings& present, const dcb::PortSettings& wanted,
                                           const Rules& rules);

// Back to what was there before.
[[nodiscard]] std::vector<Step> restore(const dcb::PortSettings& present, const dcb::PortSettings& before,
                                        const Rules& rules);

// What the port has after a step that the driver took: what is expected when it is read back.
[[nodiscard]] dcb::PortSettings after(dcb::PortSettings present, const Set& set, const Rules& rules);

}    // namespace rdmaqos::port_classes
