// Who may manage: root, and the user as whom the daemon runs; others if polkit says so. Over either transport.
#pragma once

#include <functional>
#include <string>

#include "daemon/bus/endpoint.h"

namespace rdmaqos {

// Try is more than Reload: a caller of Reload takes root's files, one of Try brings a text.
enum class Action { Reload, Try, Manage };

// Calls `then` at once for those, else when polkit has agreed (which may wait for a password if the caller allowed
// interaction) and the caller is still there. A caller who may not gets an error of Polkit::ask(). The log names the
// caller and what it asked for, unless the call only reads. `device`: that it is about; empty: of the call's object,
// or none.
void when_authorized(BusEndpoint& endpoint, const Call& call, const Peer& peer, Action action,
                     std::function<void()> then, const std::string& device = {});

}    // namespace rdmaqos
