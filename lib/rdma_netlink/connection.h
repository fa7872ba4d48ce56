// RDMA netlink (rdma/rdma_netlink.h): what it says begins with attributes, without a header of its own.
//
// Not thread-safe.
#pragma once

#include "lib/netlink/connection.h"

namespace rdmaqos::rdma_netlink {

using netlink::AnswerEnd;
using netlink::append;
using netlink::byte_in;
using netlink::Bytes;
using netlink::content_of;
using netlink::first_of;
using netlink::number_in;
using netlink::read_datagram;
using netlink::text_in;
using netlink::wide_number_in;

class Connection : public netlink::Connection {
public:
    // 0, or an errno (EPROTONOSUPPORT: this kernel has no RDMA).
    [[nodiscard]] int open();
    // `command`: RDMA_NLDEV_CMD_....
    [[nodiscard]] int ask(std::uint16_t command, std::uint16_t flags, const std::vector<std::uint8_t>& attributes);
};

}    // namespace rdmaqos::rdma_netlink
