// What a subnet manager would have to set so that the fabric divides its links as the policy divides a NIC: a virtual
// lane (VL) for each child of the tree's root, and the weights by which ports choose among them. Pure.
//
//     SL of a level ──(sl2vl)──▶ VL of the root's child it is below ──(VL arbitration)──▶ the link
//
// VL 0 is for all else: SLs of no child, children without an SL.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/model/policy.h"

namespace rdmaqos::ctl {

struct Lane {
    std::string child;          // of the root; empty: VL 0, all else
    std::uint32_t share = 0;    // as the host has it
    std::uint8_t weight = 0;    // in units of 64 bytes
    std::vector<std::uint8_t> sls;
};

struct OpensmQos {
    std::string revision;
    std::uint8_t max_vls = 1;    // data VLs that ports must have
    std::vector<Lane> lanes;     // by VL
    std::array<std::uint8_t, 16> vl_of_sl{};
    std::vector<std::string> findings;    // sentences without a full stop
};

// Most ports have so many.
inline constexpr std::uint8_t kUsualDataVls = 8;

// With so many data VLs: 1, 2, 4, 8 or 15.
[[nodiscard]] OpensmQos opensm_qos(const Policy& policy, std::uint8_t data_vls);

// Lines of opensm.conf, with comments.
[[nodiscard]] std::string to_conf(const OpensmQos& qos);

// How weights divide a link among lanes that are all backlogged, with packets of so many bytes: a lane whose turn it is
// sends whole packets until its weight is used up. In percent; lanes without a weight get nothing.
[[nodiscard]] std::vector<double> parts_of(const std::vector<std::uint8_t>& weights, std::uint32_t packet_bytes);

}    // namespace rdmaqos::ctl
