// What rdma_cm makes of an IP address and of the options of a connection, for requests that name these.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/base/result.h"

namespace rdmaqos {

// The service-id rdma_cm forms of an IP address (rdma_get_service_id() of Linux): port space << 16 | port, with
// RDMA_PS_TCP 0x0106, RDMA_PS_UDP 0x0111, RDMA_PS_IPOIB 0x0002 and RDMA_PS_IB 0x013F. An address of family AF_IB brings
// its own. Errors: InvalidArgument for an unknown space ("tcp", "udp", "ipoib", "ib" are known).
[[nodiscard]] Result<std::uint64_t> service_id_of(std::string_view port_space, std::uint16_t port);

// The QoS-Class rdma_cm puts into the query for an IPv4 address (cma_query_ib_route() of Linux): the type of service
// set with rdma_set_option(RDMA_OPTION_ID_TOS), as it is; 0 if none was set. For IPv6 and AF_IB addresses the query has
// a traffic class and no QoS-Class.
[[nodiscard]] constexpr std::uint16_t qos_class_of_tos(std::uint8_t tos)
{
    return tos;
}

}    // namespace rdmaqos
