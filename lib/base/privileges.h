// What makes a process an administrator of the daemon: not its uid alone, which the root of a container has too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include <sys/types.h>

#include "lib/base/result.h"

namespace rdmaqos {

struct Privileges {
    std::pair<dev_t, ino_t> user_namespace{};    // zeros: the kernel has none
    std::uint64_t capabilities = 0;              // permitted, in that namespace: what it can make effective

    friend bool operator==(const Privileges&, const Privileges&) = default;
};

// Of a process, from `proc` (normally "/proc"). Errors: Io, also where the kernel does not show them to this process.
[[nodiscard]] Result<Privileges> read_privileges(const std::filesystem::path& proc, pid_t pid);

// Whether a process with this uid and these privileges can do everything that the daemon (`own_uid`, `own`) can. It has
// root's uid or that of the daemon, lives in the daemon's user namespace, and either has each capability of the daemon,
// which is what the kernel asks of one who wants to trace the daemon, or CAP_SYS_ADMIN.
[[nodiscard]] bool is_administrator(std::uint32_t uid, const Privileges& privileges, std::uint32_t own_uid,
                                    const Privileges& own);

// The same of a process that runs, by /proc, for this daemon. False also when it cannot be found out. The caller makes
// sure that the pid is still that process's (a pidfd that was opened before).
[[nodiscard]] bool is_administrator(pid_t pid, std::uint32_t uid);

}    // namespace rdmaqos
