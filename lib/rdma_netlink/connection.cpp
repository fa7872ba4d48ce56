#include "lib/rdma_netlink/connection.h"

#include <rdma/rdma_netlink.h>

namespace rdmaqos::rdma_netlink {

int Connection::open()
{
    return netlink::Connection::open(NETLINK_RDMA);
}

int Connection::ask(std::uint16_t command, std::uint16_t flags, const std::vector<std::uint8_t>& attributes)
{
    return netlink::Connection::ask(static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)), flags,
                                    attributes);
}

}    // namespace rdmaqos::rdma_netlink
