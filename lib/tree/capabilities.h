// What a NIC can do for a queue pair's transmit scheduling, in the field's terms and free of any vendor's.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "lib/base/units.h"

namespace rdmaqos {

enum class QueuePairType : std::uint8_t { Rc, Uc, Ud, RawPacket, Devx };

// "rc", "uc", "ud", "raw-packet", "devx"
[[nodiscard]] std::string_view to_string(QueuePairType type);
[[nodiscard]] std::optional<QueuePairType> parse_queue_pair_type(std::string_view text);

// The states of the InfiniBand specification; of a raw packet queue pair, RTS is a send queue that is ready.
enum class QueuePairState : std::uint8_t { Reset, Init, Rtr, Rts, Sqd, Sqe, Error };

// "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"
[[nodiscard]] std::string_view to_string(QueuePairState state);

// Packet pacing: a rate per queue pair that costs no scheduling element.
struct PacingCapabilities {
    std::set<QueuePairType> supported_types;    // empty: no pacing
    std::optional<Bandwidth> min_rate;          // empty: not known (some devices report 0 for both)
    std::optional<Bandwidth> max_rate;
    std::uint32_t table_size = 0;    // distinct (rate, burst, packet size) entries; 0: not known
    bool burst = false;              // accepts a burst size
    bool typical_packet = false;     // accepts a typical packet size

    friend bool operator==(const PacingCapabilities&, const PacingCapabilities&) = default;
};

struct Capabilities {
    bool scheduling = false;           // has scheduling elements at all; the rest means nothing without
    bool shares = false;               // accepts a share (weight) on an element
    bool rate_caps = false;            // accepts a maximum rate on an element
    std::uint32_t max_depth = 0;       // levels of the tree; the root and the leaf both count
    std::uint32_t max_leaves = 0;      // leaves, in use by anybody
    std::uint32_t max_elements = 0;    // nodes and leaves together, the root included
    std::uint32_t max_share = 0;       // shares are 1..max_share; 0 is "device default"
    bool responder_leaf = false;       // a queue pair's RDMA READ responses can be in a leaf of their own
    std::set<QueuePairType> attachable;
    PacingCapabilities pacing;

    friend bool operator==(const Capabilities&, const Capabilities&) = default;
};

}    // namespace rdmaqos
