// What a host cannot see of the fabric, from /etc/rdma-qos/fabric.yaml: ports and partitions. Used to resolve port
// names, partitions and node types of port groups, and LIDs of queue pairs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/net.h"
#include "policy/model/ib.h"

namespace rdmaqos {

enum class NodeType : std::uint8_t { Ca, Switch, Router };
[[nodiscard]] std::string_view to_string(NodeType type);

struct FabricPort {
    Guid guid;
    std::uint32_t port = 1;
    Guid node_guid;    // 0: not given
    NodeType type = NodeType::Ca;
    std::string description;             // NodeDescription, compared exactly
    std::vector<std::uint16_t> pkeys;    // with membership bit
    bool subnet_manager = false;
    std::optional<LidRange> lids = std::nullopt;
    std::optional<IbRate> rate = std::nullopt;    // of its link
    std::optional<IbMtu> mtu = std::nullopt;

    friend bool operator==(const FabricPort&, const FabricPort&) = default;
};

struct IpoibParameters {
    std::optional<std::uint8_t> sl;
    std::optional<IbMtu> mtu;
    std::optional<IbRate> rate;
    std::optional<std::uint8_t> packet_life;

    friend bool operator==(const IpoibParameters&, const IpoibParameters&) = default;
};

struct FabricPartition {
    std::string name;
    std::uint16_t pkey = 0;    // 15 bits
    std::optional<IpoibParameters> ipoib;

    friend bool operator==(const FabricPartition&, const FabricPartition&) = default;
};

struct Fabric {
    std::vector<FabricPort> ports;
    std::vector<FabricPartition> partitions;
    std::uint16_t valid_sl_mask = 0xFFFF;    // SLs that no port maps to VL15

    [[nodiscard]] const FabricPort* find_port(Guid guid) const;
    // Looks at all ports: a LidTable answers many such questions.
    [[nodiscard]] const FabricPort* find_lid(Lid lid) const;

    friend bool operator==(const Fabric&, const Fabric&) = default;
};

}    // namespace rdmaqos
