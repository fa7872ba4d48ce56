// What a client asks: the value that levels, paths and answers are found by (match/matcher.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "lib/base/net.h"
#include "policy/model/device_selector.h"
#include "policy/model/ib.h"

namespace rdmaqos {

// An end of a path as it is named. A LID means the port of the fabric file that has it: which that is may change with
// the file.
using Endpoint = std::variant<Guid, Gid, Lid>;

// "0x...", "lid:17" or "fd00::1": a GUID in hex, a LID, else a GID.
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text);
[[nodiscard]] std::string to_string(const Endpoint& endpoint);
// The GUID of the port; of a GID its lower half, unless that is an IPv4 address. A LID does not tell.
[[nodiscard]] std::optional<Guid> port_guid_of(const Endpoint& endpoint);

// A PathRecord component with its selector.
enum class Selector : std::uint8_t { GreaterThan, LessThan, Exactly, Largest };
[[nodiscard]] std::string_view to_string(Selector selector);    // "greater-than"
[[nodiscard]] std::optional<Selector> parse_selector(std::string_view text);
template <typename T>
struct Selected {
    Selector selector = Selector::Exactly;
    T value{};

    friend bool operator==(const Selected&, const Selected&) = default;
};

// What a client asks. Everything is optional; an empty request is valid. All of it is a claim of the client, unless
// `of_kernel` says otherwise.
struct Request {
    std::optional<std::string> level;
    std::optional<std::uint16_t> qos_class;    // 12 bits
    std::optional<std::uint64_t> service_id;
    std::optional<std::uint16_t> pkey;    // with or without membership bit
    std::optional<Endpoint> source;
    std::optional<Endpoint> destination;
    std::optional<DeviceNames> device;
    // The daemon asks for a program that does not register: nothing here is a claim, and what is absent cannot be
    // claimed.
    bool of_kernel = false;
    // Only for a path answer (path.h); they play no part in choosing a level.
    std::optional<std::uint8_t> sl;
    std::optional<Selected<IbMtu>> mtu;
    std::optional<Selected<IbRate>> rate;
    std::optional<Selected<std::uint8_t>> packet_life;

    friend bool operator==(const Request&, const Request&) = default;
};

}    // namespace rdmaqos
