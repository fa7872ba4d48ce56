#include "lib/dcb/advice.h"

#include <cerrno>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/overloaded.h"
#include "lib/dcb/words.h"

namespace rdmaqos::dcb {
namespace {

// What the row of the driver says against it.
std::vector<std::string> objections_to(const Driver& driver, const Write& write, const PortSettings& before)
{
    const std::uint8_t classes = before.ets ? before.ets->classes : std::uint8_t{kTrafficClasses};
    return std::visit(
        Overloaded{[&](const SetEts& set) { return objections(driver, set.ets, classes); },
                   [&](const SetMaxRates& set) { return objections(driver, set.rates); },
                   [&](const SetApp& set) { return objections(driver, set.entry, before); },
                   [&](const DeleteApp&) {
                       return driver.deletes_apps
                                  ? std::vector<std::string>()
                                  : std::vector{fmt::format("{} cannot delete entries: the NIC keeps them until it is "
                                                            "reset",
                                                            driver.name)};
                   },
                   [](const SetDcbx&) { return std::vector<std::string>(); }},
        write);
}

// How the agent in the firmware is turned off.
std::string agent_off(const PortKnown& port)
{
    const std::string_view name = port.driver == nullptr ? "" : port.driver->name;
    if (name == "ice") {
        return fmt::format("`ethtool --set-priv-flags {} fw-lldp-agent off`", port.interface);
    }
    if (name == "i40e") {
        return fmt::format("`ethtool --set-priv-flags {} disable-fw-lldp on`", port.interface);
    }
    if (name == "bnxt_en") {
        return "`niccli` or `bnxtnvm`: options lldp_nearest_bridge and dcbx_mode, then restart the host";
    }
    return "the vendor's tool";
}

bool is_in_host_mode(const PortSettings& settings)
{
    return settings.dcbx && settings.dcbx->host && !settings.dcbx->firmware;
}

// What the driver may mean by EINVAL besides the values; "": nothing that is known.
std::string mode_objection(const PortKnown& port)
{
    const HostDcbx needed = port.driver == nullptr ? HostDcbx::Settable : port.driver->host_dcbx;
    if (needed == HostDcbx::Operational) {
        return fmt::format("{} takes settings only while DCBX is operational in IEEE mode: check that the switch sends "
                           "it, and that the link is up",
                           port.driver->name);
    }
    if (is_in_host_mode(port.before) || needed == HostDcbx::Always || needed == HostDcbx::Advised) {
        return {};
    }
    if (needed == HostDcbx::AgentOff || (port.before.dcbx && port.before.dcbx->firmware)) {
        return fmt::format("the NIC's firmware negotiates with the switch (DCBX), so the host may not: turn its agent "
                           "off with {}",
                           agent_off(port));
    }
    return "DCBX is not in host mode: set it with `dcb dcbx set dev " + port.interface + " host ieee`";
}

std::string why_invalid(const PortKnown& port, const Write& write)
{
    std::vector<std::string> reasons;
    if (port.driver != nullptr) {
        reasons = objections_to(*port.driver, write, port.before);
    }
    if (auto mode = mode_objection(port); !mode.empty()) {
        reasons.push_back(std::move(mode));
    }
    return reasons.empty() ? "the driver does not say why: its line in the kernel's log may (`dmesg`)"
                           : fmt::format("{}", fmt::join(reasons, "; "));
}

std::string what_is_there(const Write& write, const PortSettings& after)
{
    const auto present = [&](const AppEntry& asked) -> std::string {
        std::vector<std::string> others;
        for (const AppEntry& one : after.apps) {
            if (one.selector == asked.selector && one.protocol == asked.protocol) {
                others.push_back(in_words(one));
            }
        }
        return others.empty() ? std::string("there is no such entry") : fmt::format("{}", fmt::join(others, ", "));
    };
    return std::visit(
        Overloaded{[&](const SetEts&) { return after.ets ? in_words(*after.ets) : std::string("there is no ETS"); },
                   [&](const SetMaxRates&) {
                       std::vector<std::string> rates;
                       for (std::size_t i = 0; after.ets && i < kTrafficClasses; ++i) {
                           if (const auto& rate = after.ets->traffic_class.at(i).max_rate) {
                               rates.push_back(fmt::format("class {}: {}", i, to_string(*rate)));
                           }
                       }
                       return rates.empty() ? std::string("no class has a maximum rate")
                                            : fmt::format("{}", fmt::join(rates, ", "));
                   },
                   [&](const SetApp& set) { return present(set.entry); },
                   [&](const DeleteApp& set) { return present(set.entry); },
                   [&](const SetDcbx&) { return "DCBX is " + (after.dcbx ? in_words(*after.dcbx) : "unknown"); }},
        write);
}

}    // namespace

std::string advice_on(const PortKnown& port, const Write& write, int error)
{
    switch (error) {
    case EPERM:
        return "this needs the capability CAP_NET_ADMIN in the first user namespace, which root of a container and a "
               "service without it in CapabilityBoundingSet= do not have";
    case EINVAL:
    case ERANGE:
        return why_invalid(port, write);
    case EOPNOTSUPP:
        return "the driver has no such thing; a virtual function, and some firmware, has less than its driver";
    case ENOMEM:
        return "there is no memory, or the driver does not have it: ENOTSUPP of a driver arrives as this number";
    case ENODEV:
        return "the network interface is gone, or in another network namespace";
    case EBUSY:
    case EAGAIN:
        return "the NIC is busy or being reset: try again";
    case ENETDOWN:
        return "the network interface is being reset: try again";
    case EIO:
        return "the NIC's firmware refused: its line in the kernel's log may say why (`dmesg`)";
    case ETIMEDOUT:
        return "there was no answer: what of it the NIC has is not known";
    default:
        return "see the kernel's log (`dmesg`)";
    }
}

std::string advice_on_difference(const PortKnown& port, const Write& write, const PortSettings& after)
{
    std::string why = "another program may have written in between, or the driver does less than it says";
    if (port.driver != nullptr) {
        if (const auto reasons = objections_to(*port.driver, write, port.before); !reasons.empty()) {
            why = fmt::format("{}", fmt::join(reasons, "; "));
        } else if (port.driver->dscp_is_class && std::holds_alternative<SetEts>(write) && trusts_dscp(after)) {
            why = fmt::format("while a DSCP has an entry, {} keeps priority p in class p", port.driver->name);
        }
    }
    return fmt::format("now: {}; {}", what_is_there(write, after), why);
}

}    // namespace rdmaqos::dcb
