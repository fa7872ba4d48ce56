// The keys of requests by D-Bus, as docs/dbus.md lists them: which there are, of which type, and where each belongs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rdmaqos {

// What a dictionary is; a key is allowed in some of them.
enum RequestUse : unsigned { kRegister = 1, kQueryPath = 2, kExplain = 4, kQueuePair = 8, kRate = 16 };
constexpr unsigned kPathKeys = kRegister | kQueryPath | kExplain | kQueuePair;
constexpr unsigned kComponents = kQueryPath | kExplain;

enum class RequestKey : std::uint8_t {
    Level,
    QosClass,
    Tos,
    ServiceId,
    PortSpace,
    DestinationPort,
    PKey,
    Source,
    Destination,
    Device,
    Port,
    Sl,
    Mtu,
    MtuSelector,
    Rate,
    RateSelector,
    PacketLife,
    PacketLifeSelector,
    QueuePairs,
    Format,
    Number,
    Type,
    Handle,
    Uverbs,
    SqNumber,
    LimitRate,
    MaxBurst,
    TypicalPacket,
};

struct RequestKeyInfo {
    RequestKey key;
    std::string_view name;
    std::string_view types;    // D-Bus signatures, one of them
    unsigned uses;
    std::string_view meaning;    // as docs/dbus.md has it
};

inline constexpr std::array kRequestKeys{
    RequestKeyInfo{RequestKey::Level, "level", "s", kPathKeys, "this level or an error; no rule is consulted"},
    RequestKeyInfo{RequestKey::QosClass, "qos-class", "u|s", kPathKeys, "12-bit number, or a name of the policy"},
    RequestKeyInfo{RequestKey::ServiceId, "service-id", "t", kPathKeys, ""},
    RequestKeyInfo{RequestKey::Tos, "tos", "y", kPathKeys,
                   "the type of service a program sets with `rdma_set_option(RDMA_OPTION_ID_TOS)`; rdma_cm sends it as "
                   "the QoS-Class of an IPv4 address (0 if none is set), and none for IPv6 and AF_IB: leave it out "
                   "there. Not together with `qos-class`"},
    RequestKeyInfo{RequestKey::PortSpace, "port-space", "s", kPathKeys,
                   "with `destination-port` the service-id that rdma_cm forms from both: `tcp` 0x0106, `udp` 0x0111, "
                   "`ipoib` 0x0002 or `ib` 0x013f before the 16-bit port. Not together with `service-id`"},
    RequestKeyInfo{RequestKey::DestinationPort, "destination-port", "q", kPathKeys, "see `port-space`"},
    RequestKeyInfo{RequestKey::PKey, "pkey", "q", kPathKeys, "with or without the membership bit"},
    RequestKeyInfo{RequestKey::Source, "source", "s", kRegister | kExplain | kQueuePair,
                   "GID, GUID or LID (`lid:17`, looked up in the fabric file) of an end of the path"},
    RequestKeyInfo{RequestKey::Source, "source", "s|as", kQueryPath,
                   "GID, GUID or LID of an end of the path, or several"},
    RequestKeyInfo{RequestKey::Destination, "destination", "s", kRegister | kExplain | kQueuePair, "the other end"},
    RequestKeyInfo{RequestKey::Destination, "destination", "s|as", kQueryPath, "the other end, or several"},
    RequestKeyInfo{RequestKey::Device, "device", "s", kPathKeys, "name, name/port, netdev or PCI address"},
    RequestKeyInfo{RequestKey::Port, "port", "u", kRegister | kQueryPath | kExplain, "port of `device`"},
    RequestKeyInfo{RequestKey::Sl, "sl", "y", kComponents, "service level that the path must have"},
    RequestKeyInfo{RequestKey::Mtu, "mtu", "u", kComponents, "256, 512, 1024, 2048 or 4096 bytes"},
    RequestKeyInfo{
        RequestKey::MtuSelector, "mtu-selector", "s", kComponents,
        "with `mtu`: `exactly` (if it is absent), `greater-than` or `less-than`, as in a PathRecord query; `largest` "
        "takes no `mtu`"},
    RequestKeyInfo{RequestKey::Rate, "rate", "t", kComponents, "an InfiniBand rate in kbit/s, such as 40000000"},
    RequestKeyInfo{RequestKey::RateSelector, "rate-selector", "s", kComponents, "with `rate`, as `mtu-selector`"},
    RequestKeyInfo{RequestKey::PacketLife, "packet-life", "y", kComponents, "n for 4.096 µs · 2ⁿ, 0 to 63"},
    RequestKeyInfo{RequestKey::PacketLifeSelector, "packet-life-selector", "s", kComponents,
                   "with `packet-life`, as `mtu-selector`"},
    RequestKeyInfo{RequestKey::QueuePairs, "queue-pairs", "aa{sv}", kRegister,
                   "attach these in the same round trip, keys as of `Attach`; the results are in the grant's "
                   "`queue-pairs`"},
    RequestKeyInfo{RequestKey::Format, "format", "s", kExplain, "`text` (if it is absent) or `json`"},
    RequestKeyInfo{RequestKey::Number, "number", "u", kQueuePair, "`ibv_qp.qp_num`"},
    RequestKeyInfo{RequestKey::Type, "type", "s", kQueuePair,
                   "as it was made: `rc` (if it is absent), `uc`, `ud`, `raw-packet`, or `devx`: by a DEVX command, as "
                   "UCX does, of whatever transport"},
    RequestKeyInfo{RequestKey::Handle, "handle", "u", kQueuePair,
                   "`ibv_qp.handle`; for `devx` that of the DEVX object. A simulated device needs none"},
    RequestKeyInfo{RequestKey::Uverbs, "uverbs", "h", kQueuePair,
                   "the descriptor of the open device, `ibv_context.cmd_fd`: a file that libibverbs has opened with "
                   "DEVX, as libmlx5 does by default. A simulated device needs none"},
    RequestKeyInfo{RequestKey::SqNumber, "sq-number", "u", kQueuePair,
                   "`raw-packet` of an mlx5 device: the send queue's number (`mlx5dv_init_obj` with "
                   "`MLX5DV_QP_MASK_RAW_QP_HANDLES`)"},
    RequestKeyInfo{RequestKey::LimitRate, "rate", "t", kRate, "kbit/s; 0: the class's own"},
    RequestKeyInfo{RequestKey::MaxBurst, "max-burst", "t", kRate, "bytes; absent or 0: the class's, else the device's"},
    RequestKeyInfo{RequestKey::TypicalPacket, "typical-packet", "u", kRate,
                   "bytes; absent or 0: the class's, else the port's MTU"},
};

inline std::string_view name_of(RequestUse use)
{
    switch (use) {
    case kRegister:
        return "Register";
    case kQueryPath:
        return "QueryPath";
    case kExplain:
        return "Explain";
    case kQueuePair:
        return "a queue pair";
    case kRate:
        return "SetRate";
    }
    return "a request";
}

}    // namespace rdmaqos
