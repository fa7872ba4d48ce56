// Who is at the other end of a connection, by the kernel's word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
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
    // Where the bus gives no pidfd of the very process that connected (before dbus 1.16 or Linux 6.5), only its number:
    // a process that started later than this (clock ticks since boot) has been given the number of one that ended.
    std::optional<std::uint64_t> started_by;
    // Where the kernel gives only the number: the process that connected may have ended before the pidfd was opened,
    // and another have its number. But a process that sends something by that number behind these bytes, and still
    // runs, is it.
    std::optional<std::size_t> unproven_bytes;
};

// Of a connected unix socket. Errors: Io; also when the process is already gone. Where the result is unproven, the
// socket has SO_PASSCRED.
[[nodiscard]] Result<PeerProcess> peer_of_socket(int socket);

// The clock of start times in /proc: ticks (sysconf(_SC_CLK_TCK) a second) since boot.
[[nodiscard]] std::uint64_t ticks_since_boot();

// Who must send the first message of a connection whose peer is unproven.
struct ExpectedSender {
    pid_t pid = 0;
    std::size_t unproven_bytes = 0;
    std::function<bool()> is_running;    // the process of the pidfd

    // Of a message at this position, from the process with this number: why it is not from the expected one; empty: it
    // is. If that process still runs, no other can have had its number since the pidfd was opened.
    [[nodiscard]] std::string why_not(std::size_t position, pid_t sender) const;
};

[[nodiscard]] Result<UniqueFd> open_pidfd(pid_t pid);
[[nodiscard]] bool is_running(const UniqueFd& pidfd);
// By its uid and by what /proc says of its process (lib/base/privileges.h), which must still run.
[[nodiscard]] bool is_administrator(const PeerProcess& process);
// Its number. Errors: Io; when the process has ended, or this is no pidfd.
[[nodiscard]] Result<pid_t> number_of(const UniqueFd& pidfd);

}    // namespace rdmaqos::bus
