#include "policy/keys/fabric_keys.h"

#include "policy/keys/choices.h"
#include "policy/keys/objects.h"
#include "policy/model/ib.h"
#include "policy/model/lid_table.h"

namespace rdmaqos::keys {
namespace {

constexpr std::array kIpoibKeys{
    Key{"sl", integer(0, kHighestSl), "Service level."},
    Key{"mtu", of(Kind::IbMtu), "Bytes, or OpenSM's 1 to 5."},
    Key{"rate", of(Kind::IbRate), "A rate of InfiniBand: `100Gbps`, or OpenSM's 2 to 24."},
    Key{"packet-life", of(Kind::PacketLife), "0 to 63, or a time, rounded up to one."},
};

constexpr std::array kFabricPartitionKeys{
    Key{"name", of(Kind::Name), "", "", true},
    Key{"pkey", integer(0, 0xFFFF), "Number of 16 bits, of which 15 count.", "", true},
    Key{"ipoib", mapping(kIpoib)},
};

constexpr std::array kFabricPortKeys{
    Key{"guid", of(Kind::Guid), "GUID of the port; the ports of a switch share one.", "", true},
    Key{"port", integer(0, 255), "Port number.", "1"},
    Key{"node-guid", of(Kind::Guid), "GUID of the node; absent: not known."},
    Key{"type", one_of(kWordsOf<kNodeTypes>), "Type of the node.", "CA"},
    Key{"description", of(Kind::Description), "Description of the node, compared exactly."},
    Key{"pkeys", integer(0, 0xFFFF, Count::OneOrSome), "P_Keys of 16 bits, with the membership bit."},
    Key{"sm", of(Kind::Flag), "The subnet manager is here.", "no"},
    Key{"lid", integer(1, kHighestLid), "Base LID, a multiple of 2 to the power of `lmc`; of one subnet only."},
    Key{"lmc", integer(0, kHighestLmc), "The port has 2 to the power of this LIDs, from its base LID on.", "0"},
    Key{"rate", of(Kind::IbRate), "What its link carries, a rate of InfiniBand: `100Gbps`, or OpenSM's 2 to 24."},
    Key{"mtu", of(Kind::IbMtu), "Of its link: bytes, or OpenSM's 1 to 5."},
};

constexpr std::array kFabricKeys{
    kVersion,
    Key{"ports", list(kFabricPort)},
    Key{"partitions", list(kFabricPartition)},
    Key{"vl15-sls", integer(0, kHighestSl, Count::OneOrSome),
        "Service levels that a port maps to VL15: no path has them."},
};

}    // namespace

constexpr Object kIpoib{"ipoib", "`ipoib`", kIpoibKeys};
constexpr Object kFabricPartition{"partition", "a partition", kFabricPartitionKeys};
constexpr Object kFabricPort{"port", "a port", kFabricPortKeys};
constexpr Object kFabric{"fabric", "a fabric", kFabricKeys};

}    // namespace rdmaqos::keys
