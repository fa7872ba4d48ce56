#include "daemon/device/schedule_spec.h"

namespace rdmaqos {

ScheduleSpec schedule_spec(const Policy& policy, std::uint32_t leaf_reserve)
{
    ScheduleSpec spec{to_tree_spec(policy), element_devices(policy), {}, leaf_reserve};
    for (const auto& level : policy.levels) {
        if (level.schedule && level.per_queue_pair.max_rate) {
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

}    // namespace rdmaqos
