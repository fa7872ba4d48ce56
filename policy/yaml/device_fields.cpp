#include "policy/yaml/device_fields.h"

#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "policy/keys/choices.h"
#include "policy/keys/objects.h"

namespace rdmaqos::reader {
namespace {

std::optional<SpeedCondition> read_speed(Context& context, const Field& field)
{
    const auto text = read_text(context, field);
    if (!text) {
        return std::nullopt;
    }
    const auto condition = parse_speed_condition(*text);
    if (!condition) {
        context.error(*field.value, fmt::format("`speed: {}` is not a speed of a link", *text),
                      "write a rate, perhaps after <, <=, > or >=, in quotes: `speed: \">=200Gbps\"`");
    }
    return condition;
}

// Nothing if it asks for nothing, which would select every device.
std::optional<DeviceSelector> read_conditions(Context& context, const Field& item)
{
    const Mapping mapping(context, *item.value, fmt::format("an entry of `{}`", item.key),
                          keys::kDeviceConditions.keys);
    DeviceSelector selector;
    if (const auto link_layer = mapping.find("link-layer")) {
        selector.link_layer = read_choice(context, *link_layer, keys::kLinkLayers);
    }
    if (const auto netdev = mapping.find("netdev")) {
        selector.netdev = read_text(context, *netdev).value_or("");
    }
    if (const auto pci = mapping.find("pci")) {
        selector.pci = read_text(context, *pci).value_or("");
    }
    if (const auto speed = mapping.find("speed")) {
        selector.speed = read_speed(context, *speed);
    }
    if (item.value->children.empty()) {
        context.error(*item.value, fmt::format("an entry of `{}` asks for nothing", item.key),
                      "name devices, or give one of link-layer, netdev, pci and speed");
    }
    return selector == DeviceSelector{} ? std::nullopt : std::optional(std::move(selector));
}

}    // namespace

std::vector<DeviceSelector> read_selectors(Context& context, const Field& field)
{
    std::vector<DeviceSelector> selectors;
    for (const Field& item : read_items(context, field, Items::AlsoMappings)) {
        if (item.value->is_mapping()) {
            if (auto selector = read_conditions(context, item)) {
                selectors.push_back(std::move(*selector));
            }
        } else if (auto name = read_text(context, item)) {
            selectors.emplace_back().name = std::move(*name);
        }
    }
    return selectors;
}

}    // namespace rdmaqos::reader
