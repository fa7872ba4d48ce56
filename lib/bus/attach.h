// For clients: queue pairs of a session, however many.
#pragma once

#include <string>
#include <vector>

#include "lib/bus/client.h"

namespace rdmaqos::bus {

// Attaches them in as few calls as take them; the results (docs/dbus.md) are in the order given.
[[nodiscard]] Result<std::vector<Dict>> attach(Client& client, const std::string& session,
                                               const std::vector<Dict>& queue_pairs);

}    // namespace rdmaqos::bus
