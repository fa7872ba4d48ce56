#include "policy/match/selector_inclusion.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "policy/match/glob_inclusion.h"

namespace rdmaqos {
namespace {

constexpr Bandwidth kLeastStep = Bandwidth::from_kbps(1);

// The lowest and the highest speed that meet the condition; a speed that is known is not 0.
std::pair<Bandwidth, Bandwidth> range_of(const SpeedCondition& condition)
{
    constexpr Bandwidth kFastest = Bandwidth::from_kbps(std::numeric_limits<std::uint64_t>::max());
    const std::uint64_t kbps = condition.speed.kbps();
    switch (condition.comparison) {
    case Comparison::Less:
        return {kLeastStep, Bandwidth::from_kbps(kbps - 1)};
    case Comparison::AtMost:
        return {kLeastStep, condition.speed};
    case Comparison::Exactly:
        break;
    case Comparison::AtLeast:
        return {condition.speed, kFastest};
    case Comparison::Greater:
        return {Bandwidth::from_kbps(kbps + 1), kFastest};
    }
    return {condition.speed, condition.speed};
}

bool includes_speeds(const std::optional<SpeedCondition>& wide, const std::optional<SpeedCondition>& narrow)
{
    if (!wide) {
        return true;
    }
    if (!narrow) {
        return false;
    }
    const auto [wide_first, wide_last] = range_of(*wide);
    const auto [first, last] = range_of(*narrow);
    return wide_first <= first && last <= wide_last;
}

// An empty glob asks for nothing.
bool includes_names(const std::string& wide, const std::string& narrow, Effort& effort)
{
    return wide.empty() || (!narrow.empty() && surely_includes(Globs(&wide, 1), Globs(&narrow, 1), effort));
}

// A name of a selector may be any of the device's, so also its netdev or PCI address.
bool is_named(Globs names, const DeviceSelector& narrow, Effort& effort)
{
    const std::array given{&narrow.name, &narrow.netdev, &narrow.pci};
    return std::ranges::any_of(given, [&](const std::string* name) {
        return !name->empty() && surely_includes(names, Globs(name, 1), effort);
    });
}

bool includes(const DeviceSelector& wide, const DeviceSelector& narrow, Effort& effort)
{
    return (wide.name.empty() || is_named(Globs(&wide.name, 1), narrow, effort)) &&
           includes_names(wide.netdev, narrow.netdev, effort) && includes_names(wide.pci, narrow.pci, effort) &&
           (!wide.link_layer || wide.link_layer == narrow.link_layer) && includes_speeds(wide.speed, narrow.speed);
}

}    // namespace

bool surely_includes(Selectors wide, Selectors narrow, Effort& effort)
{
    std::vector<std::string> names;
    for (const auto& selector : wide) {
        if (selector.is_name()) {
            names.push_back(selector.name);
        }
    }
    return std::ranges::all_of(narrow, [&](const DeviceSelector& selector) {
        return is_named(names, selector, effort) || std::ranges::any_of(wide, [&](const DeviceSelector& other) {
                   return effort.spend(1) && !other.is_name() && includes(other, selector, effort);
               });
    });
}

DeviceNames example_of(const DeviceSelector& selector, std::string_view for_star)
{
    const auto name_of = [&](const std::string& glob) { return glob.empty() ? glob : example_of(glob, for_star); };
    DeviceNames device;
    device.device = name_of(selector.name);
    device.netdev = name_of(selector.netdev);
    device.pci_address = name_of(selector.pci);
    device.link_layer = selector.link_layer;
    if (selector.speed) {
        const auto [first, last] = range_of(*selector.speed);
        device.link_speed = first == kLeastStep ? last : first;
    }
    return device;
}

}    // namespace rdmaqos
