// What a level means for a queue pair's place; taken from the policy when the level is chosen.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "daemon/model/level_loss.h"
#include "lib/tree/compile.h"
#include "lib/tree/element.h"
#include "policy/model/policy.h"

namespace rdmaqos {

struct Membership {
    std::string level;         // empty: none
    std::string rule;          // Match::why, or why there is none
    ElementPath class_path;    // empty: the level has no `schedule`
    FairBy fair_by = FairBy::None;
    std::string fair_cgroup;    // as Schedule::fair_cgroup
    PerQueuePair per_queue_pair;
    std::shared_ptr<const LostLevel> lost{};    // without a level: the one that rules took away
    bool monitored = false;                     // the level is: nothing of it is on the device, neither class nor limit
};

[[nodiscard]] Membership membership(const Policy& policy, const QosLevel& level, std::string rule);

// Of a level whose class is for other devices.
[[nodiscard]] std::string not_on_this_device(std::string_view level);

}    // namespace rdmaqos
