// Who a client is, as the kernel says: read from /proc and the cgroup file system once per connection. Nothing here
// comes from a message.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "lib/base/account.h"
#include "lib/base/result.h"

namespace rdmaqos {

struct Identity {
    pid_t pid = 0;
    std::uint64_t start_time = 0;    // clock ticks since boot: tells a process from a later one of the same pid
    std::uint32_t uid = 0;
    std::vector<std::uint32_t> gids;    // primary and supplementary, sorted
    std::string cgroup;            // "/user.slice/user-1000.slice/session-2.scope"; cgroup v2 or the systemd hierarchy
    std::string unit;              // "session-2.scope", "rdma-job.service"; empty outside any
    std::string slurm_job;         // "4711"; empty outside any (cgroup_layouts.h)
    std::string kubernetes_pod;    // its UID; empty outside any
    std::string executable;        // target of /proc/PID/exe; empty if it cannot be read
    std::string command;           // the name in /proc/PID/stat, which the process can change; 15 characters
    // It may do everything with the daemon (lib/base/privileges.h). Only of clients, when they came: others ask
    // nothing.
    bool administrator = false;

    [[nodiscard]] Account account() const { return administrator && uid == 0 ? Account::root() : Account(uid); }

    friend bool operator==(const Identity&, const Identity&) = default;
};

// Credentials the transport already knows (SO_PEERCRED and SO_PEERGROUPS, or GetConnectionCredentials).
struct PeerCredentials {
    pid_t pid = 0;
    std::uint32_t uid = 0;
    std::vector<std::uint32_t> gids;    // empty: read from /proc
};

// Reads the rest of an identity from `proc` (normally "/proc"). Errors: Io when the process is gone.
[[nodiscard]] Result<Identity> read_identity(const std::filesystem::path& proc, const PeerCredentials& credentials);

// Of the process that this is a thread of, with the credentials that it has now. Errors: Io when it is gone.
[[nodiscard]] Result<Identity> read_identity_of_thread(const std::filesystem::path& proc, pid_t thread);

// The start time alone, to check that a pid still is the same process.
[[nodiscard]] Result<std::uint64_t> read_start_time(const std::filesystem::path& proc, pid_t pid);

// The innermost service or scope of a cgroup path, "" if none: "/system.slice/a.service/sub" -> "a.service". For a
// user's services the user's own unit ("app.service" below user@1000.service), as systemd's cg_path_get_unit does not
// but `systemctl --user` would show.
[[nodiscard]] std::string unit_of_cgroup(std::string_view cgroup);

// The unit the system's own manager put the process in: the first part of the path that is no slice
// ("user@1000.service" for everything below a user's manager), "" if that is no service or scope (a container's
// cgroup). Unlike the innermost, only root chooses its name, so `allow` goes by it.
[[nodiscard]] std::string system_unit_of_cgroup(std::string_view cgroup);

}    // namespace rdmaqos
