// Who is at the other end of a connection, by the kernel's word.
#pragma once

#include <cstdint>
#include <vector>

#include <sys/types.h>

#include "lib/base/file.h"
#include "lib/base/result.h"

namespace rdmaqos::bus {

struct PeerProcess {
    pid_t pid = 0;
    std::uint32_t uid = 0;
    std::vector<std::uint32_t> gids;    // primary and supplementary
    // Pins the process: as long as is_running(pidfd), the pid is not somebody else's.
    UniqueFd pidfd;
};

// Of a connected unix socket. Errors: Io; also when the process is already gone.
[[nodiscard]] Result<PeerProcess> peer_of_socket(int socket);

[[nodiscard]] Result<UniqueFd> open_pidfd(pid_t pid);
[[nodiscard]] bool is_running(const UniqueFd& pidfd);

}    // namespace rdmaqos::bus
