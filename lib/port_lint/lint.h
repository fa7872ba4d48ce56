// Whether the ports of a host give a policy's levels what the policy says: trust, priorities, traffic classes, PFC,
// congestion notifications. Pure; it changes nothing, and each finding names the command that would.
//
//     DSCP of a level ──▶ priority ──▶ traffic class ──▶ share, maximum rate
//                            └──▶ lossless or not, buffer
//
// It sees one end of a link: not the switch, the other host, or what the switch was told.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lib/port_lint/values.h"

namespace rdmaqos::port_lint {

// In the order of interfaces, and for each in that of the rules; what concerns several interfaces last.
[[nodiscard]] std::vector<Finding> lint(std::span<const Interface> host);

// What no rule could look at on these interfaces, though it concerns the policy: without it, "nothing is wrong" is true
// of the rest only.
[[nodiscard]] std::vector<Unchecked> unchecked(std::span<const Interface> host);

// Of all rules, in order.
[[nodiscard]] std::vector<std::string_view> rule_names();

}    // namespace rdmaqos::port_lint
