// Who may do everything with the daemon.
#pragma once

#include <cstdint>

#include <unistd.h>

namespace rdmaqos {

// Root, and the user as whom the daemon runs, who could do the same without it: of the service that is root too, of a
// trial below `--root` whoever started it.
[[nodiscard]] inline bool is_administrator(std::uint32_t uid)
{
    return uid == 0 || uid == geteuid();
}

}    // namespace rdmaqos
