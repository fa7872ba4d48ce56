#include "policy/model/device_selector.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

// Those of two characters first: "<" begins "<=".
constexpr std::array<std::pair<std::string_view, Comparison>, 5> kComparisons{{{"<=", Comparison::AtMost},
                                                                               {">=", Comparison::AtLeast},
                                                                               {"<", Comparison::Less},
                                                                               {">", Comparison::Greater},
                                                                               {"=", Comparison::Exactly}}};

bool is_met(const SpeedCondition& condition, Bandwidth speed)
{
    switch (condition.comparison) {
    case Comparison::Less:
        return speed < condition.speed;
    case Comparison::AtMost:
        return speed <= condition.speed;
    case Comparison::Exactly:
        return speed == condition.speed;
    case Comparison::AtLeast:
        return speed >= condition.speed;
    case Comparison::Greater:
        return speed > condition.speed;
    }
    return false;
}

bool has_name(const std::string& glob, const std::string& name)
{
    return !name.empty() && (glob == name || glob_matches(glob, name));
}

std::string_view sign_of(Comparison comparison)
{
    const auto* found = std::ranges::find(kComparisons, comparison, [](const auto& entry) { return entry.second; });
    return found->first;
}

}    // namespace

std::vector<std::string> names_of(const DeviceNames& device)
{
    std::vector<std::string> names{device.device, fmt::format("{}/{}", device.device, device.port)};
    for (const auto& name : {device.netdev, device.pci_address}) {
        if (!name.empty()) {
            names.push_back(name);
        }
    }
    return names;
}

std::optional<SpeedCondition> parse_speed_condition(std::string_view text)
{
    SpeedCondition condition;
    for (const auto& [sign, comparison] : kComparisons) {
        if (text.starts_with(sign)) {
            condition.comparison = comparison;
            text = without_leading_blanks(text.substr(sign.size()));
            break;
        }
    }
    const auto speed = parse_bandwidth(text);
    if (!speed.value || speed.value->is_zero()) {
        return std::nullopt;
    }
    condition.speed = *speed.value;
    return condition;
}

bool selects(const DeviceSelector& selector, const DeviceNames& device)
{
    if (!selector.name.empty()) {
        const auto names = names_of(device);
        if (std::ranges::none_of(names, [&](const std::string& name) { return has_name(selector.name, name); })) {
            return false;
        }
    }
    return (selector.netdev.empty() || has_name(selector.netdev, device.netdev)) &&
           (selector.pci.empty() || has_name(selector.pci, device.pci_address)) &&
           (!selector.link_layer || selector.link_layer == device.link_layer) &&
           (!selector.speed || (!device.link_speed.is_zero() && is_met(*selector.speed, device.link_speed)));
}

bool is_selected(const std::vector<DeviceSelector>& selectors, const DeviceNames& device)
{
    return selectors.empty() ||
           std::ranges::any_of(selectors, [&](const DeviceSelector& selector) { return selects(selector, device); });
}

std::string to_string(const DeviceSelector& selector)
{
    std::vector<std::string> parts;
    if (!selector.name.empty()) {
        parts.push_back(selector.name);
    }
    if (!selector.netdev.empty()) {
        parts.push_back("netdev " + selector.netdev);
    }
    if (!selector.pci.empty()) {
        parts.push_back("pci " + selector.pci);
    }
    if (selector.link_layer) {
        parts.push_back("link-layer " + to_lower(to_string(*selector.link_layer)));
    }
    if (selector.speed) {
        parts.push_back(
            fmt::format("speed {} {}", sign_of(selector.speed->comparison), to_string(selector.speed->speed)));
    }
    return fmt::format("{}", fmt::join(parts, " and "));
}

std::vector<std::string> texts_of(const std::vector<DeviceSelector>& selectors)
{
    std::vector<std::string> texts;
    texts.reserve(selectors.size());
    std::ranges::transform(selectors, std::back_inserter(texts),
                           [](const DeviceSelector& selector) { return to_string(selector); });
    return texts;
}

std::string to_string(const std::vector<DeviceSelector>& selectors)
{
    return fmt::format("{}", fmt::join(texts_of(selectors), ", "));
}

}    // namespace rdmaqos
