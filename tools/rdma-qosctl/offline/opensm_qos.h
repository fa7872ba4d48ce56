// What a subnet manager would have to set so that the fabric divides its links as the policy divides a NIC: a virtual
// lane (VL) for each child of the tree's root, and the tables by which ports choose among them. Pure.
//
//     SL of a level ──(sl2vl)──▶ VL of the root's child it is below ──(VL arbitration)──▶ the link
//
// VL 0 is for all else: SLs of no child, children without an SL. A child with `strict` is in the table of high
// priority, all others are in that of low priority.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/smp/lanes.h"
#include "policy/model/policy.h"

namespace rdmaqos::ctl {

struct Lane {
    std::string child;          // of the root; empty: VL 0, all else
    std::uint32_t share = 0;    // as the host has it
    std::vector<std::uint8_t> sls;
    bool is_first = false;    // in the table of high priority

    friend bool operator==(const Lane&, const Lane&) = default;
};

// "tenants", "all else"
[[nodiscard]] std::string name_of(const Lane& lane);

struct OpensmQos {
    std::string revision;
    std::uint8_t max_vls = 1;    // data VLs that ports must have
    std::vector<Lane> lanes;     // by VL
    std::array<std::uint8_t, 16> vl_of_sl{};
    std::uint8_t high_limit = 0;    // how much of high priority goes before a packet of low priority: smp::PortLanes
    std::vector<smp::Turn> high;    // of the lanes that are first
    std::vector<smp::Turn> low;     // of the others
    std::vector<std::string> findings;    // sentences without a full stop
};

// What all ports of the fabric have.
struct FabricPorts {
    std::uint8_t data_vls = 8;    // 1, 2, 4, 8 or 15; most have so many
    // Of the table of low priority (VLArbLowCap). Many HCAs have so many, and InfiniBand asks for one for each VL.
    std::size_t entries = 8;
};

// More are of no use: OpenSM fills the second half of a table of 64 with nothing.
inline constexpr std::size_t kMostEntries = 32;

[[nodiscard]] OpensmQos opensm_qos(const Policy& policy, const FabricPorts& ports);

// What lanes should get of a link while all of the same table are busy, in percent, by VL.
[[nodiscard]] std::vector<double> wanted_parts(const OpensmQos& qos);

// Lines of opensm.conf, with comments.
[[nodiscard]] std::string to_conf(const OpensmQos& qos);

}    // namespace rdmaqos::ctl
