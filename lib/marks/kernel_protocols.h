// What in the kernel itself uses RDMA (upper layer protocols), and where its packets have their traffic class from: no
// launcher and no variable reaches it. A row for each module, made from the source that it names.
//
//     side that connects ──▶ rdma_cm: what the protocol sets, else default_roce_tos of the port
//     side that accepts  ──▶ the traffic class that the request for the connection has: that of the other host
//
// (Linux: cma_resolve_iboe_route() in drivers/infiniband/core/cma.c; cm_format_paths_from_req() and cm_req_handler() in
// cm.c.) On InfiniBand the subnet manager decides.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rdmaqos::marks {

// Of connections that this host makes.
enum class MarkedBy : std::uint8_t {
    Default,    // default_roce_tos, nothing else
    Setting,    // a setting of its own, else default_roce_tos
    Program,    // the programs that use it, else 0: default_roce_tos has no effect
    Nothing,    // always 0
    Peer,       // it makes none
};
[[nodiscard]] std::string_view to_string(MarkedBy by);    // "default", "setting", "program", "nothing", "peer"

struct KernelProtocol {
    std::string_view what;      // "NVMe over Fabrics, host"
    std::string_view module;    // as in /sys/module
    // Of rdma_cm's TCP port space, to which it connects or on which it accepts unless it is told another one. Empty:
    // it has none of its own.
    std::span<const std::uint16_t> ports;
    MarkedBy marked_by;
    bool accepts;    // connections of other hosts
    // How a traffic class, for which TOS stands, is set; empty unless `marked_by` is a setting or the program.
    std::string_view setting;
    std::string_view remark;    // a sentence without a full stop; may be empty
    std::string_view source;
};
[[nodiscard]] std::span<const KernelProtocol> kernel_protocols();

// `setting` for this traffic class: "nvme connect --tos=104".
[[nodiscard]] std::string setting_for(const KernelProtocol& protocol, std::uint8_t traffic_class);

// What gives this protocol's packets this traffic class, in words: "by nvme connect --tos=104; without it, ...".
// Empty: the level has none.
[[nodiscard]] std::string how_to_mark(const KernelProtocol& protocol, std::optional<std::uint8_t> traffic_class);

}    // namespace rdmaqos::marks
