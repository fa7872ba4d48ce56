#include "lib/rdma_netlink/connection.h"

#include <rdma/rdma_netlink.h>
#include <sys/time.h>

namespace rdmaqos::rdma_netlink {

int Connection::open()
{
    UniqueFd made(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
    const timeval patience{1, 0};
    if (!made || setsockopt(made.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0) {
        return errno;
    }
    socket_ = std::move(made);
    return 0;
}

int Connection::ask(std::uint16_t command, std::uint16_t flags, const std::vector<std::uint8_t>& attributes)
{
    std::vector<std::uint8_t> message(NLMSG_HDRLEN);
    message.insert(message.end(), attributes.begin(), attributes.end());
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(message.size());
    header.nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = ++sequence_;
    std::memcpy(message.data(), &header, sizeof(header));
    return send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(message.size())
               ? 0
               : errno;
}

}    // namespace rdmaqos::rdma_netlink
