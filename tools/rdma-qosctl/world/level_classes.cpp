#include "tools/rdma-qosctl/world/level_classes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/api/port.h"
#include "lib/base/text.h"
#include "lib/port_classes/scheduling.h"
#include "policy/model/traffic_class.h"
#include "tools/rdma-qosctl/world/port_levels.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::string_view kResponder = ".responder";

}    // namespace

PortClasses port_that_divides(const DeviceView& device)
{
    const auto settings = api::settings_of(device.port_classes);
    const PortClasses port = settings ? port_classes::scheduling_of(*settings) : PortClasses();
    return divides(port) ? port : PortClasses();
}

std::optional<std::uint8_t> carried_dscp(const World& world, const api::QueuePair& queue_pair)
{
    const auto found = world.carried.find({queue_pair.device, queue_pair.number});
    return found == world.carried.end() ? std::nullopt : std::optional(found->second);
}

void CarriedDscps::add(const std::optional<std::uint8_t>& dscp)
{
    if (dscp) {
        dscps.insert(*dscp);
    }
    ++(dscp ? seen : unseen);
}

LevelClasses::LevelClasses(const std::vector<api::Level>& levels, const DeviceView& device)
{
    port_ = port_that_divides(device);
    divides_ = divides(port_);
    if (!divides_) {
        return;
    }
    trusts_dscp_ = dcb::trusts_dscp(api::settings_of(device.port_classes).value_or(dcb::PortSettings()));
    netdev_ = device.port_classes.netdev;
    for (const auto& level : levels) {
        by_name_.try_emplace(to_lower(level.name), levels_.size());
        if (!level.class_path.empty()) {
            by_path_.try_emplace(level.class_path, levels_.size());
        }
        levels_.push_back({level.name,
                           level.traffic_class ? std::optional(dscp_of(*level.traffic_class)) : std::nullopt,
                           !level.class_path.empty() && is_meant_for(level, device)});
    }
}

const LevelClasses::Known* LevelClasses::find(std::string_view level, const ElementPath& leaf) const
{
    if (!level.empty()) {
        const auto found = by_name_.find(to_lower(level));
        return found == by_name_.end() ? nullptr : &levels_[found->second];
    }
    for (ElementPath at = leaf; !at.empty(); at = at.parent()) {
        std::string path = at.text();
        if (path.ends_with(kResponder) && !by_path_.contains(path)) {
            path.resize(path.size() - kResponder.size());
        }
        if (const auto found = by_path_.find(path); found != by_path_.end()) {
            return &levels_[found->second];
        }
    }
    return nullptr;
}

std::optional<std::uint8_t> LevelClasses::dscp_meant(std::string_view level, const ElementPath& leaf) const
{
    const Known* known = find(level, leaf);
    return known == nullptr ? std::nullopt : known->dscp;
}

std::uint8_t LevelClasses::class_of(std::string_view level, const ElementPath& leaf,
                                    std::optional<std::uint8_t> carried) const
{
    if (!divides_) {
        return 0;
    }
    return port_.class_of_dscp(carried ? *carried : dscp_meant(level, leaf).value_or(0));
}

std::vector<std::string> LevelClasses::levels_in(std::uint8_t port_class) const
{
    std::vector<std::string> names;
    for (const auto& level : levels_) {
        if (level.is_here && port_.class_of_dscp(level.dscp.value_or(0)) == port_class) {
            names.push_back(level.name);
        }
    }
    return names;
}

std::string LevelClasses::reason(std::string_view level, const ElementPath& leaf, const CarriedDscps& carried) const
{
    const std::uint8_t number = class_of(level, leaf);
    if (!trusts_dscp_) {
        return fmt::format("traffic class {} is assumed: {} goes by VLAN tags, and what has none has priority 0",
                           number, netdev_);
    }
    const Known* known = find(level, leaf);
    if (!carried.dscps.empty()) {
        return reason_by_mark(known, carried);
    }
    if (known == nullptr || !known->dscp) {
        return fmt::format("traffic class {} is assumed, that of priority 0: {}", number,
                           known == nullptr ? "the level of its queue pairs is not known"
                                            : fmt::format("level {} has no `traffic-class`", known->name));
    }
    return fmt::format("traffic class {} is assumed, that of DSCP {} of level {}: what its queue pairs carry is not "
                       "known",
                       number, *known->dscp, known->name);
}

std::string LevelClasses::reason_by_mark(const Known* level, const CarriedDscps& carried) const
{
    const std::uint8_t number = port_.class_of_dscp(*carried.dscps.begin());
    const std::size_t all = carried.seen + carried.unseen;
    std::string text = fmt::format(
        "traffic class {} is that of DSCP {}, which {} carr{}", number, fmt::join(carried.dscps, " and "),
        carried.unseen > 0 ? fmt::format("{} of its {}", carried.seen, counted(all, "queue pair"))
        : all == 1         ? "its queue pair"
                           : "its queue pairs",
        carried.seen == 1 ? "ies" : "y");
    if (level != nullptr && level->dscp && !carried.dscps.contains(*level->dscp)) {
        const std::uint8_t meant = port_.class_of_dscp(*level->dscp);
        text += fmt::format("; level {} has DSCP {}{}", level->name, *level->dscp,
                            meant == number ? ", of the same class" : fmt::format(", of traffic class {}", meant));
    }
    return text + (carried.unseen > 0 ? "; of the others it is not known, and assumed" : "");
}

}    // namespace rdmaqos::ctl
