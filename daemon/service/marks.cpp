#include "daemon/service/marks.h"

#include <utility>

#include "daemon/loop/gathering.h"
#include "policy/model/traffic_class.h"

namespace rdmaqos {
namespace {

// On InfiniBand, packets have a service level in place of a DSCP.
bool has_dscps(const ManagedDevice& device)
{
    return device.info().link_layer == LinkLayer::Ethernet;
}

}    // namespace

DscpOfLevels Marks::levels() const
{
    DscpOfLevels levels;
    if (const auto policy = policy_.policy()) {
        for (const auto& level : policy->levels) {
            if (level.traffic_class) {
                levels.emplace(level.name, dscp_of(*level.traffic_class));
            }
        }
    }
    return levels;
}

void Marks::read(Duration patience, LoopCallback<void(HostMarks)> done)
{
    const auto levels = std::make_shared<const DscpOfLevels>(this->levels());
    // Answered when the last device is, and never before this returns.
    const auto all = Gathering::begin([this, done = std::move(done)](const Gathering::Missing&) mutable {
        context_.calls.defer([this, done = std::move(done)] { done(known()); });
    });
    for (const auto& [key, device] : devices_) {
        if (levels->empty() || !has_dscps(*device) || !device->has_room() || device->is_silent()) {
            continue;
        }
        all->expect(key);
        device->read_marks(levels, [all, key = key](const Result<void>&) { all->came(key); });
    }
    all->within(context_.executor, patience);
    all->all_expected();
}

HostMarks Marks::known() const
{
    const DscpOfLevels levels = this->levels();
    HostMarks marks;
    for (const auto& [key, device] : devices_) {
        if (has_dscps(*device)) {
            if (DeviceMarks of_device = device->marks(levels); !of_device.empty()) {
                marks.emplace(key, std::move(of_device));
            }
        }
    }
    return marks;
}

}    // namespace rdmaqos
