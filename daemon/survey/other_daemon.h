// Another rdma-qosd on this host that has a device open: found in what RDMA netlink tells of open device files, which
// does not depend on mount or network namespaces. What runs in another process namespace is seen from the host, but
// does not see the host's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <sys/types.h>

#include "policy/model/identity.h"

namespace rdmaqos {

struct OtherDaemon {
    pid_t pid = 0;       // 0: not visible from here
    std::string unit;    // "": in none
};

// "process 4711 of rdma-qosd.service", "a process that is not visible from here".
[[nodiscard]] std::string to_string(const OtherDaemon& other);

// Whether a process is another daemon than ourselves. Only what root or our own user has started is believed to be one:
// others cannot keep us from a device by the name of a program of theirs, nor of a program that has root's rights for
// the process that starts it. Hence `real_uid`, the process's. Pure.
[[nodiscard]] bool is_other_daemon(const Identity& process, std::uint32_t real_uid, const Identity& own);

// Asks the kernel; costs the device no command. Empty: there is none, or the kernel does not tell.
[[nodiscard]] std::optional<OtherDaemon> find_other_daemon(const std::filesystem::path& proc,
                                                           const std::string& device);

// Of a process that is known to be one.
[[nodiscard]] OtherDaemon describe_daemon(const std::filesystem::path& proc, std::optional<pid_t> process);

}    // namespace rdmaqos
