// What a policy asks of devices, and what of it is for one of them.
#pragma once

#include <cstdint>
#include <set>

#include "lib/tree/compile.h"
#include "policy/model/lower.h"
#include "policy/model/policy.h"
#include "policy/model/settings.h"

namespace rdmaqos {

struct ScheduleSpec {
    TreeSpec tree;                           // of a device that has all of it
    ElementDevices devices;                  // what of it only some devices have
    std::set<ElementPath> capped_classes;    // classes of levels with a per-queue-pair max-rate
    std::uint32_t leaf_reserve = 0;
    std::set<ElementPath> monitored_classes{};    // not in the tree: of levels that are only monitored
};

[[nodiscard]] ScheduleSpec schedule_spec(const Policy& policy, std::uint32_t leaf_reserve);
// Whether any device gets elements; `policy`: null: there is none.
[[nodiscard]] bool makes_elements(const Policy* policy, const Settings& settings);

// The tree for this device. Parts of the link are rates: of its speed, or of `link_speed` if that is not known.
[[nodiscard]] TreeSpec tree_for(const ScheduleSpec& spec, const DeviceNames& device, Bandwidth link_speed);

// Which of the monitored classes this device would have.
[[nodiscard]] std::set<ElementPath> monitored_classes_for(const ScheduleSpec& spec, const DeviceNames& device);

}    // namespace rdmaqos
