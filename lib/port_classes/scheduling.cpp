#include "lib/port_classes/scheduling.h"

namespace rdmaqos::port_classes {
namespace {

static_assert(kPortClasses == dcb::kTrafficClasses && kPortPriorities == dcb::kPriorities);

constexpr std::uint32_t kWholeLink = 100;    // percent

PortClass scheduling_of(const dcb::TrafficClass& traffic_class)
{
    const std::optional<Bandwidth> max_rate = traffic_class.max_rate;
    switch (traffic_class.selection) {
    case dcb::Selection::Strict:
        return {true, 0, max_rate};
    case dcb::Selection::Ets:
        return {false, traffic_class.weight, max_rate};
    case dcb::Selection::CreditBasedShaper:
    case dcb::Selection::Vendor:
        break;
    }
    return {false, kWholeLink, max_rate};
}

}    // namespace

PortClasses scheduling_of(const dcb::PortSettings& settings)
{
    PortClasses port;
    if (!settings.ets) {
        return port;
    }
    for (std::size_t number = 0; number < kPortClasses; ++number) {
        port.classes.at(number) = scheduling_of(settings.ets->traffic_class.at(number));
    }
    port.class_of_priority = settings.ets->class_of_priority;
    for (std::size_t dscp = 0; dscp < kDscps; ++dscp) {
        port.priority_of_dscp.at(dscp) = dcb::priority_of_dscp(settings, static_cast<std::uint8_t>(dscp));
    }
    return port;
}

}    // namespace rdmaqos::port_classes
