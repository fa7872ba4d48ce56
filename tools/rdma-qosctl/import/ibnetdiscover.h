// What ibnetdiscover(8) of infiniband-diags prints, read: who is in the fabric.
//
// Forms, as rdma-core's infiniband-diags/ibnetdiscover.c prints them:
//   topology (no option, -g, -f, -m)   blocks of a node, its ports below it
//
//       switchguid=0x2c90200400d98(2c90200400d98)
//       Switch  36 "S-0002c90200400d98"     # "leaf 1" enhanced port 0 lid 2 lmc 0
//       [1]     "H-0002c90300a1b2c0"[1](2c90300a1b2c1)      # "node1 HCA-1" lid 4 4xQDR
//
//       caguid=0x2c90300a1b2c0
//       Ca      2 "H-0002c90300a1b2c0"      # "node1 HCA-1"
//       [1](2c90300a1b2c1)  "S-0002c90200400d98"[1]         # lid 4 lmc 0 "leaf 1" lid 2 4xQDR
//
//   ports (-p)                         a line for each port, without the GUIDs of nodes
//
//       CA     4  1 0x0002c90300a1b2c1 4x QDR - SW     2  1 0x0002c90200400d98 ( 'node1 HCA-1' - 'leaf 1' )
//
// Only ports with a link are printed as ports of a topology, and only they are end ports to a subnet manager.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/base/net.h"
#include "policy/model/fabric.h"
#include "policy/text/read_result.h"

namespace rdmaqos {

struct DiscoveredPort {
    Guid guid;
    std::uint32_t number = 0;                       // 0: the port of a switch as an end point
    std::optional<LidRange> lids = std::nullopt;    // in the ports form without the LMC, which it does not tell
    std::optional<IbRate> rate = std::nullopt;      // of its link: width times speed; not of a switch
};

struct DiscoveredNode {
    NodeType type = NodeType::Ca;
    Guid guid;                  // 0: not known (ports form)
    std::string description;    // printable ASCII, other bytes as blanks, as a subnet manager knows it
    std::vector<DiscoveredPort> ports;
    Location location;
};

struct IbnetdiscoverReport {
    std::vector<DiscoveredNode> nodes;    // in the order of the file; of the ports form, one for each port
    bool is_ports_report = false;
};

// Every node and port GUID, and every LID, is in it once: what is listed again is left out with a warning. A topology
// has a block for every node that a link names; one without was cut off: a warning, and an error if no host is left.
[[nodiscard]] ReadResult<IbnetdiscoverReport> read_ibnetdiscover(std::shared_ptr<const SourceFile> source);

}    // namespace rdmaqos
