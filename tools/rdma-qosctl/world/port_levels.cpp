#include "tools/rdma-qosctl/world/port_levels.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "lib/tree/class_requests.h"
#include "policy/model/traffic_class.h"

namespace rdmaqos::ctl {
namespace {

PortLevel port_level(const dcb::PortSettings& settings, std::string level, std::uint8_t dscp)
{
    PortLevel result{
        std::move(level), dscp, dcb::priority_of_dscp(settings, dscp), dcb::class_of_dscp(settings, dscp), {}, {}};
    if (settings.ets) {
        result.scheduling = settings.ets->traffic_class.at(result.traffic_class);
    }
    if (settings.pfc) {
        result.lossless = settings.pfc->lossless.at(result.priority);
    }
    return result;
}

}    // namespace

bool is_meant_for(const api::Level& level, const DeviceView& device)
{
    return level.devices.empty() || [&] {
        for (const auto& element : device.tree) {
            if (element.path == level.class_path) {
                return true;
            }
        }
        return false;
    }();
}

std::vector<PortLevel> port_levels(const DeviceView& device, const std::vector<api::Level>& levels)
{
    const auto settings = api::settings_of(device.port_classes);
    std::vector<PortLevel> result;
    if (!settings) {
        return result;
    }
    for (const auto& level : levels) {
        if (level.traffic_class && is_meant_for(level, device)) {
            result.push_back(port_level(*settings, level.name, dscp_of(*level.traffic_class)));
        }
    }
    if (!result.empty()) {
        result.push_back(port_level(*settings, "", 0));
    }
    return result;
}

std::optional<PortLevel> port_level_of_notifications(const DeviceView& device)
{
    const auto settings = api::settings_of(device.port_classes);
    return settings && device.cnp_dscp ? std::optional(port_level(*settings, "", *device.cnp_dscp)) : std::nullopt;
}

std::string in_words(const std::optional<dcb::TrafficClass>& scheduling)
{
    if (!scheduling) {
        return "-";
    }
    std::string text;
    switch (scheduling->selection) {
    case dcb::Selection::Ets:
        text = fmt::format("{} %", scheduling->weight);
        break;
    case dcb::Selection::Strict:
        text = "strict";
        break;
    case dcb::Selection::CreditBasedShaper:
        text = "credit-based";
        break;
    case dcb::Selection::Vendor:
        text = "as the vendor does";
        break;
    }
    return scheduling->max_rate ? fmt::format("{}, at most {}", text, to_string(*scheduling->max_rate)) : text;
}

bool has_kept_classes(const DeviceView& device)
{
    const auto& care = device.port_classes.care;
    return care && (care->keeping == PortKeeping::Kept || care->keeping == PortKeeping::Pending);
}

bool has_classes_in_use(const DeviceView& device)
{
    const auto settings = api::settings_of(device.port_classes);
    if (!settings || !settings->ets) {
        return false;
    }
    std::set<std::uint8_t> in_use;
    for (const std::uint8_t number : settings->ets->class_of_priority) {
        const auto selection = settings->ets->traffic_class.at(number).selection;
        if (selection == dcb::Selection::Ets || selection == dcb::Selection::Strict) {
            in_use.insert(number);
        }
    }
    return in_use.size() > 1;
}

void take_from_daemon(port_lint::Interface& port, const std::vector<DeviceView>& devices)
{
    const auto found = std::ranges::find_if(devices, [&](const DeviceView& device) {
        return device.name == port.rdma.device && device.port == port.rdma.port;
    });
    if (found != devices.end()) {
        port.is_divided_by_tree = found->attach_mode == "shared";
        port.is_kept = has_kept_classes(*found);
    }
}

std::optional<port_lint::Interface> interface_of(const DeviceView& device, const std::vector<api::Level>& levels)
{
    auto settings = api::settings_of(device.port_classes);
    if (!settings) {
        return std::nullopt;
    }
    port_lint::Interface port;
    port.name = device.port_classes.netdev;
    port.driver = device.port_classes.driver;
    port.link_speed = device.link_speed;
    port.settings = std::move(*settings);
    port.rdma.device = device.name;
    port.rdma.port = device.port;
    port.is_divided_by_tree = device.attach_mode == "shared";
    port.is_kept = has_kept_classes(device);
    for (const auto& element : device.tree) {
        if (element.parent == "/") {
            port.root_children.push_back({std::string(ElementPath(element.path).name()), element.requested.share,
                                          element.requested.min_rate, element.max_rate, false});
        }
    }
    for (const auto& level : levels) {
        if (!is_meant_for(level, device)) {
            continue;
        }
        const std::string child(root_child_of(ElementPath(level.class_path)).name());
        port.levels.push_back({level.name, level.traffic_class, child, level.min_rate, level.max_rate});
        const auto found = std::ranges::find(port.root_children, child, &port_lint::RootChild::name);
        if (found != port.root_children.end()) {
            found->is_strict = level.strict;
        }
    }
    return port;
}

}    // namespace rdmaqos::ctl
