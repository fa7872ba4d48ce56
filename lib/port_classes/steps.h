// From what a port is set to, to what it shall be set to: single writes, in an order in which traffic loses its class
// for as short as possible. After each step, also if the daemon is killed behind it, difference() of what the port then
// has continues to the same end.
//
//     The mode of DCBX, ETS and maximum rates first, then the entries of the application table that are set, then those
//     that are deleted. Where the first or the last entry of a DSCP resets ETS, that entry comes before ETS.
#pragma once

#include <string>
#include <vector>

#include "lib/dcb/port.h"
#include "lib/dcb/port_settings.h"
#include "lib/port_classes/rules.h"

namespace rdmaqos::port_classes {

struct Step {
    dcb::Write write;
    std::string words;         // "maps DSCP 10 to priority 3"
    std::string disruption;    // "takes the link down and up"; empty: none

    friend bool operator==(const Step&, const Step&) = default;
};

// Empty: nothing is to be done. What a driver cannot set, and what we do not (PFC, buffers, entries with another
// selector than the DSCP, weights of classes that do not divide by weight), is not compared.
[[nodiscard]] std::vector<Step> difference(const dcb::PortSettings& present, const dcb::PortSettings& wanted,
                                           const Rules& rules);

// The same, and weights and classes of priorities in any case: of what a driver refused the NIC may have a part that
// the driver does not read.
[[nodiscard]] std::vector<Step> difference_and_ets(const dcb::PortSettings& present, const dcb::PortSettings& wanted,
                                                   const Rules& rules);

// A line for people. Entries of DSCPs that are set or deleted alike, one after the other, are one: "maps DSCP 0 to 25,
// 27 to priority 0".
struct StepLine {
    std::string words;
    std::string disruption;    // as of Step

    friend bool operator==(const StepLine&, const StepLine&) = default;
};
[[nodiscard]] std::vector<StepLine> step_lines(const std::vector<Step>& steps);

// Of each kind of setting that is not as wanted (weights, maximum rates, entries, the mode of DCBX): what would set it
// so, and what the port has in its place, as if it were set to that.
struct Difference {
    std::string expected;
    std::string found;

    friend bool operator==(const Difference&, const Difference&) = default;
};
[[nodiscard]] std::vector<Difference> differences_in_words(const dcb::PortSettings& present,
                                                           const dcb::PortSettings& wanted, const Rules& rules);

// What the port has after a write that the driver took: what is expected when it is read back.
[[nodiscard]] dcb::PortSettings after(dcb::PortSettings present, const dcb::Write& write, const Rules& rules);

}    // namespace rdmaqos::port_classes
