// A socket for uevents: what libudev does with one, and looks at before it believes a message; and what other libraries
// look at on a socket for netlink.
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/emulator/preload/next.h"
#include "tools/emulator/preload/recognition.h"
#include "tools/emulator/protocol.h"

using namespace rdmaqos::emulator;

namespace {

int subscribe(int fd, std::uint32_t groups)
{
    constexpr int kPatience = 5000;    // milliseconds
    char answer[kSubscribed];
    pollfd readable{fd, POLLIN, 0};
    if (send(fd, &groups, sizeof(groups), MSG_NOSIGNAL) != sizeof(groups) || poll(&readable, 1, kPatience) != 1 ||
        recv(fd, answer, sizeof(answer), MSG_DONTWAIT) != sizeof(answer)) {
        errno = ENOBUFS;
        return -1;
    }
    return 0;
}

// As if the kernel, or udevd, had sent it by netlink as root.
void set_sender(int fd, msghdr* message)
{
    const bool has_uevents = takes_uevents(fd);
    const bool from_udev = has_uevents && message->msg_iovlen > 0 && message->msg_iov[0].iov_len >= 8 &&
                           memcmp(message->msg_iov[0].iov_base, "libudev", 8) == 0;
    sockaddr_nl sender{};
    sender.nl_family = AF_NETLINK;
    sender.nl_groups = from_udev ? 2 : has_uevents ? 1 : 0;
    sender.nl_pid = from_udev ? 1 : 0;
    memcpy(message->msg_name, &sender, sizeof(sender));
    message->msg_namelen = sizeof(sender);
    for (cmsghdr* each = CMSG_FIRSTHDR(message); each != nullptr; each = CMSG_NXTHDR(message, each)) {
        if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_CREDENTIALS) {
            const ucred root{static_cast<pid_t>(sender.nl_pid), 0, 0};
            memcpy(CMSG_DATA(each), &root, sizeof(root));
        }
    }
}

}    // namespace

EXPORT int bind(int fd, const sockaddr* address, socklen_t length)
{
    NEXT(bind);
    sockaddr_nl local{};
    if (address != nullptr && length >= sizeof(local) && address->sa_family == AF_NETLINK && takes_uevents(fd)) {
        memcpy(&local, address, sizeof(local));
        return subscribe(fd, local.nl_groups);
    }
    return real(fd, address, length);
}

EXPORT int getsockname(int fd, sockaddr* address, socklen_t* length)
{
    NEXT(getsockname);
    if (address == nullptr || length == nullptr || !is_netlink(fd)) {
        return real(fd, address, length);
    }
    sockaddr_nl local{};
    local.nl_family = AF_NETLINK;
    local.nl_pid = static_cast<std::uint32_t>(getpid());
    memcpy(address, &local, *length < sizeof(local) ? *length : sizeof(local));
    *length = sizeof(local);
    return 0;
}

EXPORT ssize_t recvmsg(int fd, msghdr* message, int flags)
{
    NEXT(recvmsg);
    const bool asks_sender = message != nullptr && message->msg_name != nullptr &&
                             message->msg_namelen >= sizeof(sockaddr_nl) && directory() != nullptr;
    const ssize_t length = real(fd, message, flags);
    if (length > 0 && asks_sender && static_cast<sockaddr*>(message->msg_name)->sa_family == AF_UNIX &&
        is_netlink(fd)) {
        set_sender(fd, message);
    }
    return length;
}
