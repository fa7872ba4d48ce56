// A socket of route netlink becomes a connection to the emulator when a message of DCB is sent on it, or when it joins
// the group that is told of changes of DCB, and stays one: what it asks is rather about the emulator's ports than about
// this host's. One that has no port number when it joins the group stays one of this host.
#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/emulator/preload/connect.h"
#include "tools/emulator/preload/next.h"
#include "tools/emulator/preload/recognition.h"
#include "tools/emulator/protocol.h"

using namespace rdmaqos::emulator;

namespace {

// `whole`: the length of the message, which begins with these bytes.
bool is_about_dcb(const void* bytes, size_t length, size_t whole)
{
    nlmsghdr header;
    if (bytes == nullptr || length < sizeof(header) || directory() == nullptr) {
        return false;
    }
    __builtin_memcpy(&header, bytes, sizeof(header));
    return header.nlmsg_len == whole && (header.nlmsg_type == RTM_GETDCB || header.nlmsg_type == RTM_SETDCB);
}

bool is_route_netlink(int fd)
{
    const KeptErrno kept;
    int domain = 0;
    int protocol = -1;
    socklen_t length = sizeof(domain);
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_NETLINK &&
           getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 && protocol == NETLINK_ROUTE;
}

// The kernel gives it with bind(2) or the first message, and tells a socket without one nothing: it leaves out who has
// the number of the sender, and its own is 0.
bool has_port_number(int fd)
{
    const KeptErrno kept;
    sockaddr_nl local{};
    socklen_t length = sizeof(local);
    return getsockname(fd, reinterpret_cast<sockaddr*>(&local), &length) == 0 && local.nl_pid != 0;
}

// False: there is no emulator (any more).
bool lead_to_emulator(int fd)
{
    const int flags = fcntl(fd, F_GETFD);
    const int connection = connect_to("netlink", -1, true, (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    if (connection < 0) {
        errno = ECONNREFUSED;
        return false;
    }
    timeval patience{};
    socklen_t length = sizeof(patience);
    if (getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, &length) == 0) {
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    }
    const bool done = dup3(connection, fd, (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0) == fd;
    close(connection);
    return done;
}

// What is told after its return is for this socket, too.
bool join(int fd)
{
    constexpr int kPatience = 5000;    // milliseconds
    nlmsghdr request{};
    request.nlmsg_len = sizeof(request);
    request.nlmsg_type = kJoinDcb;
    char answer[kSubscribed];
    pollfd readable{fd, POLLIN, 0};
    const bool done = send(fd, &request, sizeof(request), MSG_NOSIGNAL) == sizeof(request) &&
                      poll(&readable, 1, kPatience) == 1 &&
                      recv(fd, answer, sizeof(answer), MSG_DONTWAIT) == sizeof(answer);
    if (!done) {
        errno = ENOBUFS;
    }
    return done;
}

}    // namespace

EXPORT ssize_t send(int fd, const void* message, size_t length, int flags)
{
    NEXT(send);
    if (is_about_dcb(message, length, length) && is_route_netlink(fd) && !lead_to_emulator(fd)) {
        return -1;
    }
    return real(fd, message, length, flags);
}

EXPORT ssize_t sendto(int fd, const void* message, size_t length, int flags, const sockaddr* to, socklen_t to_length)
{
    NEXT(sendto);
    if (is_about_dcb(message, length, length) && is_route_netlink(fd) && !lead_to_emulator(fd)) {
        return -1;
    }
    return to != nullptr && is_netlink(fd) ? real(fd, message, length, flags, nullptr, 0)
                                           : real(fd, message, length, flags, to, to_length);
}

EXPORT ssize_t sendmsg(int fd, const msghdr* message, int flags)
{
    NEXT(sendmsg);
    size_t whole = 0;
    for (size_t i = 0; message != nullptr && i < message->msg_iovlen; ++i) {
        whole += message->msg_iov[i].iov_len;
    }
    if (whole > 0 && is_about_dcb(message->msg_iov[0].iov_base, message->msg_iov[0].iov_len, whole) &&
        is_route_netlink(fd) && !lead_to_emulator(fd)) {
        return -1;
    }
    if (message == nullptr || message->msg_name == nullptr || !is_netlink(fd)) {
        return real(fd, message, flags);
    }
    msghdr connected = *message;
    connected.msg_name = nullptr;
    connected.msg_namelen = 0;
    return real(fd, &connected, flags);
}

EXPORT int setsockopt(int fd, int level, int name, const void* value, socklen_t length)
{
    NEXT(setsockopt);
    int group = 0;
    if (level == SOL_NETLINK && name == NETLINK_ADD_MEMBERSHIP && value != nullptr && length >= sizeof(group) &&
        directory() != nullptr) {
        __builtin_memcpy(&group, value, sizeof(group));
    }
    if (group == RTNLGRP_DCB && (is_netlink(fd) || (is_route_netlink(fd) && has_port_number(fd)))) {
        return (is_netlink(fd) || lead_to_emulator(fd)) && join(fd) ? 0 : -1;
    }
    return real(fd, level, name, value, length);
}
