// Where a queue pair sends to: the address vector of a verb as mlx5_ib writes it into the queue pair's context, and as
// it tells it from there. Much does not come back as it was set; on Ethernet the service level does not at all.
#pragma once

#include <cstdint>
#include <optional>

#include <rdma/ib_user_verbs.h>

#include "lib/base/units.h"
#include "lib/mlx5/prm.h"
#include "tools/emulator/uobject.h"

namespace rdmaqos::emulator {

// Cuts what is too long for the context. EINVAL: it has no place there.
[[nodiscard]] int fit_address(ib_uverbs_qp_dest& address, bool infiniband);

// At most so fast may be sent to an address with this `static_rate` (enum ibv_rate). Empty: as fast as the port is.
[[nodiscard]] std::optional<Bandwidth> static_rate(std::uint8_t rate);

// What verbs tell of an address that was fitted, or of one that is not set yet. Port 0: the path has none.
[[nodiscard]] ib_uverbs_qp_dest reported_address(const ib_uverbs_qp_dest& fitted, std::uint32_t port, bool infiniband);

// Verbs tell an address of these types only.
[[nodiscard]] inline bool has_address(const QueuePairData& data)
{
    return data.type == QueuePairType::Rc || data.type == QueuePairType::Uc;
}

// As the device has it: a datagram's is the largest once it can receive.
[[nodiscard]] inline std::uint8_t path_mtu_of(const QueuePairData& data)
{
    constexpr std::uint8_t kLargest = 5;    // 4096 bytes
    return data.type == QueuePairType::Ud && data.connected ? kLargest : data.attributes.path_mtu;
}

// The address in a queue pair's context, as verbs have it. A priority and a DSCP are its service level and traffic
// class on Ethernet.
[[nodiscard]] ib_uverbs_qp_dest address_in(const mlx5::Mailbox& context, bool infiniband);

// What verbs have set, into the context that an answer to QUERY_QP has. data.mutex is held.
void put_attributes(mlx5::Mailbox& answer, const QueuePairData& data, bool infiniband);

}    // namespace rdmaqos::emulator
