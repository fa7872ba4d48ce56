// Who is at the other end of a connection, by the kernel's word.
#pragma once

#include <cstdint>
#include <optional>
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
    // Where the kernel or the bus gives no pidfd of the very process that connected, only its number: a process that
    // started later than this (clock ticks since boot) has been given the number of one that ended.
    std::optional<std::uint64_t> started_by;
};

// Of a connected unix socket, which may have waited to be accepted since `waiting_since` (ticks since boot). Errors: Io; also
// when the process is already gone.
[[nodiscard]] Result<PeerProcess> peer_of_socket(int socket, std::uint64_t waiting_since);

// The latest start of a process whose connection may have waited since `waiting_since` and is accepted now. All process
// numbers are not used up within a second, so a wait that short proves nothing against it.
[[nodiscard]] std::uint64_t latest_start(std::uint64_t waiting_since, std::uint64_t now);

// The clock of start times in /proc: ticks (sysconf(_SC_CLK_TCK) a second) since boot.
[[nodiscard]] std::uint64_t ticks_since_boot();

[[nodiscard]] Result<UniqueFd> open_pidfd(pid_t pid);
[[nodiscard]] bool is_running(const UniqueFd& pidfd);

}    // namespace rdmaqos::bus
