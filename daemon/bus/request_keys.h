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
    Rate,
    PacketLife,
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
};

constexpr std::array kRequestKeys{
    RequestKeyInfo{RequestKey::Level, "level", "s", kPathKeys},
    RequestKeyInfo{RequestKey::QosClass, "qos-class", "u|s", kPathKeys},
    RequestKeyInfo{RequestKey::Tos, "tos", "y", kPathKeys},
    RequestKeyInfo{RequestKey::ServiceId, "service-id", "t", kPathKeys},
    RequestKeyInfo{RequestKey::PortSpace, "port-space", "s", kPathKeys},
    RequestKeyInfo{RequestKey::DestinationPort, "destination-port", "q", kPathKeys},
    RequestKeyInfo{RequestKey::PKey, "pkey", "q", kPathKeys},
    RequestKeyInfo{RequestKey::Source, "source", "s", kRegister | kExplain | kQueuePair},
    RequestKeyInfo{RequestKey::Source, "source", "s|as", kQueryPath},
    RequestKeyInfo{RequestKey::Destination, "destination", "s", kRegister | kExplain | kQueuePair},
    RequestKeyInfo{RequestKey::Destination, "destination", "s|as", kQueryPath},
    RequestKeyInfo{RequestKey::Device, "device", "s", kPathKeys},
    RequestKeyInfo{RequestKey::Port, "port", "u", kRegister | kQueryPath | kExplain},
    RequestKeyInfo{RequestKey::Sl, "sl", "y", kComponents},
    RequestKeyInfo{RequestKey::Mtu, "mtu", "s", kComponents},
    RequestKeyInfo{RequestKey::Rate, "rate", "s", kComponents},
    RequestKeyInfo{RequestKey::PacketLife, "packet-life", "s", kComponents},
    RequestKeyInfo{RequestKey::QueuePairs, "queue-pairs", "aa{sv}", kRegister},
    RequestKeyInfo{RequestKey::Format, "format", "s", kExplain},
    RequestKeyInfo{RequestKey::Number, "number", "u", kQueuePair},
    RequestKeyInfo{RequestKey::Type, "type", "s", kQueuePair},
    RequestKeyInfo{RequestKey::Handle, "handle", "u", kQueuePair},
    RequestKeyInfo{RequestKey::Uverbs, "uverbs", "h", kQueuePair},
    RequestKeyInfo{RequestKey::SqNumber, "sq-number", "u", kQueuePair},
    RequestKeyInfo{RequestKey::LimitRate, "rate", "t", kRate},
    RequestKeyInfo{RequestKey::MaxBurst, "max-burst", "t", kRate},
    RequestKeyInfo{RequestKey::TypicalPacket, "typical-packet", "u", kRate},
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
