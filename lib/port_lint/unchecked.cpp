// What the rules are silent about because a fact is missing.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/port_lint/lint.h"
#include "lib/port_lint/rules.h"

namespace rdmaqos::port_lint {
namespace {

constexpr const char* kNvidiaDriver = "mlx5_core";

void add_kept(const Interface& port, std::vector<Unchecked>& found)
{
    if (port.is_kept) {
        found.push_back({port.name,
                         fmt::format("trust, priorities of DSCPs, weights and maximum rates of {}", port.name),
                         "the daemon keeps them as the policy in force asks: `rdma-qosctl status` says what it cannot "
                         "set, `rdma-qosctl plan` what it would change"});
    }
}

void add_notifications(const Interface& port, std::vector<Unchecked>& found)
{
    const Notifications& cnp = port.rdma.notifications;
    const bool matters = port.settings.ets || has_lossless(port);
    const bool no_priority = matters && !cnp_priority(port);
    const bool no_reaction = !marked_levels(port).empty() && (!cnp.are_sent || !cnp.are_obeyed);
    if (port.rdma.device.empty() || (!no_priority && !no_reaction)) {
        return;
    }
    std::vector<std::string> reasons;
    if (port.driver != kNvidiaDriver) {
        reasons.emplace_back("only NVIDIA's drivers tell of them where this looks");
    } else {
        if (no_priority) {
            reasons.push_back(fmt::format("their {} cannot be read{}{}",
                                          dcb::trusts_dscp(port.settings) ? "DSCP" : "priority",
                                          cnp.unread.empty() ? "" : ": ", cnp.unread));
        }
        if (no_reaction) {
            reasons.emplace_back("whether they are sent and obeyed, only the driver of NVIDIA's own packages tells");
        }
    }
    found.push_back({port.name, fmt::format("congestion notifications of {}", port.rdma.device),
                     fmt::format("{}", fmt::join(reasons, "; "))});
}

void add_untold(const Interface& port, std::vector<Unchecked>& found)
{
    std::vector<std::string> untold;
    if (!port.settings.ets && !port.root_children.empty()) {
        untold.emplace_back("weights and maximum rates of traffic classes (ETS)");
    }
    if (!port.settings.pfc && !marked_levels(port).empty()) {
        untold.emplace_back("lossless priorities (PFC)");
    }
    if (has_lossless(port) && !port.settings.buffers) {
        untold.emplace_back("receive buffers");
    }
    if (has_lossless(port) && !port.rdma.sent) {
        untold.emplace_back("bytes of RDMA by priority");
    }
    if (!port.settings.dcbx) {
        untold.emplace_back("who negotiates with the switch (DCBX)");
    }
    if (!untold.empty()) {
        found.push_back({port.name, fmt::format("{} of {}", listed(untold), port.name),
                         port.driver.empty() ? "its driver does not tell"
                                             : fmt::format("its driver, {}, does not tell", port.driver)});
    }
}

void add_guarantees(const Interface& port, std::vector<Unchecked>& found)
{
    const bool promises = std::ranges::any_of(port.root_children,
                                              [](const RootChild& each) { return each.min_rate.has_value(); }) ||
                          std::ranges::any_of(port.levels, [](const Level& each) { return each.min_rate.has_value(); });
    if (promises && port.settings.ets && !port.link_speed) {
        found.push_back({port.name, fmt::format("guarantees (min-rate) on {}", port.name),
                         "the speed of its link is not known, as while it is down"});
    }
}

}    // namespace

std::vector<Unchecked> unchecked(std::span<const Interface> host)
{
    std::vector<Unchecked> found;
    for (const Interface& port : host) {
        if (port.is_infiniband) {
            continue;
        }
        add_kept(port, found);
        add_notifications(port, found);
        add_untold(port, found);
        add_guarantees(port, found);
    }
    return found;
}

}    // namespace rdmaqos::port_lint
