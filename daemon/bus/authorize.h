// Who may manage: root, and the user as whom the daemon runs, over either transport; others by the system bus if polkit says so.
#pragma once

#include <functional>

#include "daemon/bus/endpoint.h"

namespace rdmaqos {

enum class Action { Reload, Manage };

// Calls `then` at once for those, else when polkit has agreed (which may wait for a password if the caller allowed
// interaction). Whoever may not is answered AuthorizationRequired, or InteractiveAuthorizationRequired if a password would
// do.
void when_authorized(BusEndpoint& endpoint, const Call& call, const Peer& peer, Action action,
                     std::function<void()> then);

}    // namespace rdmaqos
