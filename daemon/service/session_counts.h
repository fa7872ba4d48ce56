// How many sessions there are, and what is wrong with how many: for reports whose size may not grow with what others
// have.
#pragma once

#include <map>
#include <string>

#include "daemon/model/session.h"
#include "policy/model/policy.h"

namespace rdmaqos {

class DeviceTable;
class SessionTable;

// Goes through all queue pairs; `policy` may be null.
[[nodiscard]] SessionCounts count_sessions(const SessionTable& sessions, const DeviceTable& devices,
                                           const Policy* policy);

// Adds who is in which level, by the level's name.
void count_levels(const SessionTable& sessions, const DeviceTable& devices, std::map<std::string, LevelUse>& uses);

}    // namespace rdmaqos
