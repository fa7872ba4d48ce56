// What a message bus says of one of its clients.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "lib/base/result.h"

namespace rdmaqos::bus {

struct Credentials {
    std::optional<std::uint32_t> uid;
    pid_t pid = 0;                      // 0: not given
    std::vector<std::uint32_t> gids;    // primary and supplementary, as they were when the client connected
    int pidfd = -1;                     // of the process that connected; the message's. -1: not given
};

// The call for a client with this unique name, to be sent on `bus`. Errors: Io.
[[nodiscard]] Result<sd_bus_message*> new_credentials_call(sd_bus* bus, const char* unique_name);
// Its answer. Errors: Io.
[[nodiscard]] Result<Credentials> read_credentials(sd_bus_message* reply);

}    // namespace rdmaqos::bus
