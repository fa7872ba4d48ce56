#include "daemon/device/membership.h"

#include <utility>

#include <fmt/format.h>

#include "policy/model/lower.h"

namespace rdmaqos {

std::string not_on_this_device(std::string_view level)
{
    return fmt::format(
        "level {} has no class on this device: its `devices`, or those of a scheduling-node above it, are "
        "others",
        level);
}

Membership membership(const Policy& policy, const QosLevel& level, std::string rule)
{
    Membership result{level.name, std::move(rule), class_path(policy, level), FairBy::None, {}, level.per_queue_pair};
    result.monitored = level.mode == Mode::Monitor;
    if (level.schedule) {
        result.fair_by = level.schedule->fair_by;
        result.fair_cgroup = level.schedule->fair_cgroup;
    }
    return result;
}

}    // namespace rdmaqos
