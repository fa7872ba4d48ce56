// Who may manage: root by either door; others by the system bus if polkit says so.
#pragma once

#include <functional>
#include <memory>

#include "daemon/bus/call.h"
#include "lib/base/result.h"

namespace rdmaqos {

enum class Action { Reload, Manage };

// Calls `done` at once for root and for the direct door, else when polkit has answered (which may wait for a password
// if the caller allowed interaction). Error: AuthorizationRequired.
void authorize(const Call& call, std::uint32_t uid, const std::shared_ptr<bus::Connection>& connection,
               bool on_system_bus, Action action, const std::function<void(Result<void>)>& done);

}    // namespace rdmaqos
