#include "lib/netlink/connection.h"

#include <sys/time.h>

namespace rdmaqos::netlink {

int Connection::open(int protocol)
{
    UniqueFd made(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
    const timeval patience{1, 0};
    if (!made || setsockopt(made.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0) {
        return errno;
    }
    socket_ = std::move(made);
    return 0;
}

int Connection::ask(std::uint16_t type, std::uint16_t flags, const std::vector<std::uint8_t>& content)
{
    std::vector<std::uint8_t> message(NLMSG_HDRLEN);
    message.insert(message.end(), content.begin(), content.end());
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(message.size());
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = ++sequence_;
    std::memcpy(message.data(), &header, sizeof(header));
    return send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(message.size())
               ? 0
               : errno;
}

}    // namespace rdmaqos::netlink
