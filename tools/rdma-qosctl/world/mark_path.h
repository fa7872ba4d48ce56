// The way of packets from their DSCP to their part of a port, hop by hop, and at which hop it goes wrong:
//
//     level ──▶ DSCP of its packets ──▶ priority ──▶ traffic class ──▶ share, maximum rate
//                                          └──▶ lossless or not
//
// Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/api/session.h"
#include "tools/rdma-qosctl/world/port_levels.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// Of queue pairs of one level on one device that carry the same.
struct MarkPath {
    std::string device{};
    std::string level{};
    std::vector<std::uint64_t> queue_pairs{};
    std::uint8_t meant = 0;                // the level's DSCP
    std::optional<std::uint8_t> dscp{};    // what their packets carry; empty: it is not known
    std::string unseen{};                  // why not, a word
    std::optional<PortLevel> gets{};       // what packets with `dscp`, or else `meant`, get; empty: not known
    std::vector<std::string> wrong{};      // sentences, in the order of the hops; empty: nothing is found wrong
    std::string advice{};                  // what to do; empty with `wrong`

    friend bool operator==(const MarkPath&, const MarkPath&);
};

// What they carry, as far as it is known, into `world.carried`.
void take_marks(const std::vector<api::HostQueuePair>& queue_pairs, World& world);

// `notifications`: the DSCP of congestion notifications (CNP), by the key of the device, where it is known.
[[nodiscard]] std::vector<MarkPath> trace_marks(const World& world, const std::vector<api::HostQueuePair>& queue_pairs,
                                                const std::map<std::string, std::uint8_t>& notifications = {});

// "DSCP 26 -> priority 3 -> traffic class 3 (70 %, at most 40 Gbit/s), lossless"
[[nodiscard]] std::string way_in_words(const MarkPath& path);

}    // namespace rdmaqos::ctl
