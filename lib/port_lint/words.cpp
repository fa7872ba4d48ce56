#include <algorithm>

#include <fmt/format.h>

#include "lib/dcb/driver.h"
#include "lib/port_lint/rules.h"

namespace rdmaqos::port_lint {

bool has_priorities(const Interface& port)
{
    return port.settings.ets || port.settings.pfc || !port.settings.apps.empty();
}

std::uint8_t dscp_of(std::uint8_t packet_class)
{
    return static_cast<std::uint8_t>(packet_class >> 2U);
}

std::uint8_t priority_of(const Interface& port, const Level& level)
{
    return level.traffic_class ? dcb::priority_of_dscp(port.settings, dscp_of(*level.traffic_class)) : std::uint8_t{0};
}

std::uint8_t class_of_priority(const Interface& port, std::uint8_t priority)
{
    return port.settings.ets && priority < dcb::kPriorities ? port.settings.ets->class_of_priority[priority]
                                                            : std::uint8_t{0};
}

std::vector<const Level*> marked_levels(const Interface& port)
{
    std::vector<const Level*> marked;
    for (const Level& level : port.levels) {
        if (dscp_of(level.traffic_class.value_or(0)) != 0) {
            marked.push_back(&level);
        }
    }
    return marked;
}

bool is_lossless(const Interface& port, std::uint8_t priority)
{
    return port.settings.pfc && priority < dcb::kPriorities && port.settings.pfc->lossless[priority];
}

bool has_lossless(const Interface& port)
{
    return port.settings.pfc &&
           std::ranges::find(port.settings.pfc->lossless, true) != port.settings.pfc->lossless.end();
}

std::optional<std::uint8_t> cnp_priority(const Interface& port)
{
    const Notifications& cnp = port.rdma.notifications;
    if (dcb::trusts_dscp(port.settings)) {
        return cnp.dscp ? std::optional(dcb::priority_of_dscp(port.settings, *cnp.dscp)) : std::nullopt;
    }
    return cnp.priority;
}

std::string suggested_priority(const Interface& port)
{
    for (std::uint8_t priority = 0; priority < dcb::kPriorities; ++priority) {
        if (is_lossless(port, priority)) {
            return fmt::format("{}", priority);
        }
    }
    return "PRIORITY";
}

bool has_entry(const Interface& port, std::uint8_t dscp)
{
    return std::ranges::any_of(port.settings.apps, [dscp](const dcb::AppEntry& entry) {
        return entry.selector == dcb::Selector::Dscp && entry.protocol == dscp;
    });
}

bool can_map_dscps(const Interface& port)
{
    const dcb::Driver* driver = dcb::find_driver(port.driver);
    return driver == nullptr || driver->takes(dcb::Selector::Dscp);
}

const char* verb_that_maps(const Interface& port)
{
    const dcb::Driver* driver = dcb::find_driver(port.driver);
    return driver != nullptr && driver->replaces_apps ? "add" : "replace";
}

std::string command_that_maps(const Interface& port, std::uint8_t dscp, const std::string& priority)
{
    const dcb::Driver* driver = dcb::find_driver(port.driver);
    if (!can_map_dscps(port)) {
        return {};
    }
    if (!has_entry(port, dscp)) {
        return fmt::format("dcb app add dev {} dscp-prio {}:{}", port.name, dscp, priority);
    }
    if (driver == nullptr || !driver->delete_before_remap) {
        return fmt::format("dcb app {} dev {} dscp-prio {}:{}", verb_that_maps(port), port.name, dscp, priority);
    }
    std::string old;
    for (const dcb::AppEntry& entry : port.settings.apps) {
        if (entry.selector == dcb::Selector::Dscp && entry.protocol == dscp) {
            old += fmt::format(" {}:{}", dscp, entry.priority);
        }
    }
    return fmt::format("dcb app del dev {0} dscp-prio{1} && dcb app add dev {0} dscp-prio {2}:{3}", port.name, old,
                       dscp, priority);
}

std::string command_for_default_tos(const Interface& port, std::uint8_t tos)
{
    return fmt::format("mkdir -p /sys/kernel/config/rdma_cm/{0} && echo {2} "
                       ">/sys/kernel/config/rdma_cm/{0}/ports/{1}/default_roce_tos",
                       port.rdma.device, port.rdma.port, tos);
}

std::vector<std::string> names_of(const std::vector<const Level*>& levels)
{
    std::vector<std::string> names;
    for (const Level* level : levels) {
        names.push_back(level->name);
    }
    return names;
}

std::string listed(const std::vector<std::string>& words)
{
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        text += i == 0 ? "" : i + 1 == words.size() ? " and " : ", ";
        text += words[i];
    }
    return text;
}

std::string in_words(const std::vector<std::string>& levels)
{
    return fmt::format("level{} {}", levels.size() == 1 ? "" : "s", listed(levels));
}

std::string priorities_in_words(const std::vector<std::uint8_t>& priorities)
{
    std::vector<std::string> words;
    for (const std::uint8_t priority : priorities) {
        words.push_back(fmt::format("{}", priority));
    }
    return fmt::format("{} {}", priorities.size() == 1 ? "priority" : "priorities", listed(words));
}

}    // namespace rdmaqos::port_lint
