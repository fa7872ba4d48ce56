#include "lib/bus/peer.h"

#include <cerrno>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdmaqos::bus {
namespace {

#ifdef SO_PEERPIDFD
constexpr int kPeerPidfd = SO_PEERPIDFD;
#else
constexpr int kPeerPidfd = 77;    // Linux 6.5; newer than the headers
#endif

Result<std::vector<std::uint32_t>> groups_of_socket(int socket, gid_t primary)
{
    std::vector<gid_t> groups(64);
    auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    while (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) < 0) {
        if (errno != ERANGE) {
            return fail(error_from_errno(ErrorCode::Io, errno, "the groups of a client cannot be read"));
        }
        groups.resize(size / sizeof(gid_t));
    }
    groups.resize(size / sizeof(gid_t));
    std::vector<std::uint32_t> result{primary};
    result.insert(result.end(), groups.begin(), groups.end());
    return result;
}

Result<UniqueFd> pidfd_of_socket(int socket, pid_t pid)
{
    int fd = -1;
    socklen_t size = sizeof(fd);
    if (getsockopt(socket, SOL_SOCKET, kPeerPidfd, &fd, &size) == 0) {
        return UniqueFd(fd);
    }
    if (errno != ENOPROTOOPT) {
        return fail(error_from_errno(ErrorCode::Io, errno, fmt::format("process {} of a client", pid)));
    }
    return open_pidfd(pid);
}

}    // namespace

Result<UniqueFd> open_pidfd(pid_t pid)
{
    const auto fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (fd < 0) {
        return fail(error_from_errno(ErrorCode::Io, errno, fmt::format("process {} of a client", pid)));
    }
    return UniqueFd(fd);
}

bool is_running(const UniqueFd& pidfd)
{
    pollfd process{pidfd.get(), POLLIN, 0};
    return pidfd && poll(&process, 1, 0) == 0;
}

Result<PeerProcess> peer_of_socket(int socket)
{
    ucred credentials{};
    socklen_t size = sizeof(credentials);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0) {
        return fail(error_from_errno(ErrorCode::Io, errno, "the credentials of a client cannot be read"));
    }
    if (credentials.pid <= 0) {
        return fail(ErrorCode::Io, "the process of a client cannot be seen from here (another PID namespace)");
    }
    auto groups = groups_of_socket(socket, credentials.gid);
    if (!groups) {
        return fail(std::move(groups).error());
    }
    auto pidfd = pidfd_of_socket(socket, credentials.pid);
    if (!pidfd) {
        return fail(std::move(pidfd).error());
    }
    return PeerProcess{credentials.pid, credentials.uid, std::move(*groups), std::move(*pidfd)};
}

}    // namespace rdmaqos::bus
