#include "lib/bus/peer.h"

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/privileges.h"
#include "lib/base/try.h"

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

// Before Linux 6.5 a socket gives the number alone. How long the connection waited says nothing: the next process may
// get a number that its owner had kept since the last round.
Result<void> take_pidfd(int socket, PeerProcess& peer)
{
    int fd = -1;
    socklen_t size = sizeof(fd);
    if (getsockopt(socket, SOL_SOCKET, kPeerPidfd, &fd, &size) == 0) {
        peer.pidfd = UniqueFd(fd);
        return {};
    }
    if (errno != ENOPROTOOPT) {
        return fail(error_from_errno(ErrorCode::Io, errno, fmt::format("process {} of a client", peer.pid)));
    }
    peer.pidfd = TRY(open_pidfd(peer.pid));
    const int on = 1;
    int unread = 0;
    if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 || ioctl(socket, FIONREAD, &unread) < 0) {
        return fail(error_from_errno(ErrorCode::Io, errno, "who sends on a connection cannot be found out"));
    }
    peer.unproven_bytes = static_cast<std::size_t>(unread);
    return {};
}

}    // namespace

std::string ExpectedSender::why_not(std::size_t position, pid_t sender) const
{
    constexpr const char* kWhatToDo =
        "this kernel, older than Linux 6.5, does not tell more about it: connect again, and";
    if (position < unproven_bytes) {
        return fmt::format(
            "it cannot be told whether process {}, which connected, sent this: {} wait for the answer to "
            "the authentication before the first call",
            pid, kWhatToDo);
    }
    if (sender != pid) {
        return fmt::format("process {} connected, but {} sent the first call: {} let the process that connects make it",
                           pid, sender == 0 ? "another" : fmt::format("process {}", sender), kWhatToDo);
    }
    return is_running() ? std::string() : fmt::format("process {}, which connected, has ended", pid);
}

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

bool is_administrator(const PeerProcess& process)
{
    return rdmaqos::is_administrator(process.pid, process.uid) && is_running(process.pidfd);
}

Result<pid_t> number_of(const UniqueFd& pidfd)
{
    constexpr std::string_view kKey = "\nPid:";
    const auto text = TRY(read_kernel_file(fmt::format("/proc/self/fdinfo/{}", pidfd.get())));
    const auto at = text.find(kKey);
    const int number = at == std::string::npos ? 0 : std::atoi(text.c_str() + at + kKey.size());
    if (number == 0) {
        return fail(ErrorCode::Io,
                    "what should be the pidfd of a client is none, or of a process that cannot be seen from here");
    }
    if (number < 0) {
        return fail(ErrorCode::Io, "the process of a client has ended");
    }
    return number;
}

std::uint64_t ticks_since_boot()
{
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    const auto ticks = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
    return static_cast<std::uint64_t>(now.tv_sec) * ticks +
           static_cast<std::uint64_t>(now.tv_nsec) * ticks / 1'000'000'000U;
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
    auto groups = TRY(groups_of_socket(socket, credentials.gid));
    PeerProcess peer{credentials.pid, credentials.uid, std::move(groups), {}, {}, {}};
    TRY(take_pidfd(socket, peer));
    return peer;
}

}    // namespace rdmaqos::bus
