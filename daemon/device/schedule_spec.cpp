#include "daemon/device/schedule_spec.h"

namespace rdmaqos {

ScheduleSpec schedule_spec(const Policy& policy, std::uint32_t leaf_reserve)
{
    ScheduleSpec spec{to_tree_spec(policy), element_devices(policy), {}, leaf_reserve};
    for (const auto& level : policy.levels) {
        if (level.schedule && level.mode == Mode::Monitor) {
            spec.monitored_classes.insert(class_path(policy, level));
        } else if (level.schedule && level.per_queue_pair.max_rate) {
            spec.capped_classes.insert(class_path(policy, level));
        }
    }
    return spec;
}

bool makes_elements(const Policy* policy, const Settings& settings)
{
    return settings.mode == Mode::Enforce && policy != nullptr && !to_tree_spec(*policy).elements.empty();
}

TreeSpec tree_for(const ScheduleSpec& spec, const DeviceNames& device, Bandwidth link_speed)
{
    return with_absolute_rates(for_device(spec.tree, spec.devices, device),
                               device.link_speed.is_zero() ? link_speed : device.link_speed);
}

std::set<ElementPath> monitored_classes_for(const ScheduleSpec& spec, const DeviceNames& device)
{
    std::set<ElementPath> here;
    for (const auto& path : spec.monitored_classes) {
        if (is_for_device(path, spec.devices, device)) {
            here.insert(path);
        }
    }
    return here;
}

}    // namespace rdmaqos
