#include "policy/keys/devices_keys.h"

#include "policy/keys/choices.h"
#include "policy/keys/objects.h"

namespace rdmaqos::keys {
namespace {

constexpr Value kCount = integer(0, 1'000'000);
constexpr Value kTypes = one_of(kWordsOf<kQueuePairTypes>, Count::OneOrMany);
constexpr std::string_view kTypesSentence = "Types of queue pairs; an empty list: none.";

constexpr std::array kTrafficKeys{
    Key{"transmit", of(Kind::Rate)},
    Key{"receive", of(Kind::Rate)},
};

constexpr std::array kPacingKeys{
    Key{"types", kTypes, kTypesSentence},
    Key{"min-rate", of(Kind::Rate), "Lowest rate: at least 1kbps."},
    Key{"max-rate", of(Kind::Rate), "Highest rate."},
    Key{"table-size", kCount, "Different rates at once."},
    Key{"burst", of(Kind::Flag), "A burst can be stated."},
    Key{"typical-packet", of(Kind::Flag), "A typical packet can be stated."},
};

constexpr std::array kCapabilitiesKeys{
    Key{"scheduling", of(Kind::Flag), "The device has scheduling elements."},
    Key{"shares", of(Kind::Flag)},
    Key{"rate-caps", of(Kind::Flag)},
    Key{"max-depth", kCount, "Levels of the tree, with the root."},
    Key{"max-leaves", kCount, "Queue groups."},
    Key{"max-elements", kCount, "Elements of any kind."},
    Key{"max-share", kCount, "Largest share."},
    Key{"responder-leaf", of(Kind::Flag), "RDMA READ responses can have a leaf of their own."},
    Key{"attachable", kTypes, kTypesSentence},
    Key{"pacing", mapping(kPacing)},
};

constexpr std::array kDeviceKeys{
    Key{"name", of(Kind::PlainName), "Without `/`.", "", true, "mlx5_0"},
    Key{"port", integer(1, 0xFFFF'FFFF), "Port number.", "1"},
    Key{"node-guid", of(Kind::Guid), "Absent: derived from the name, the same in every run."},
    Key{"port-guid", of(Kind::Guid), "Absent: derived from the name and the port."},
    Key{"netdev", of(Kind::Name), "Name of its network device.", "", false, "ens1f0"},
    Key{"bond", of(Kind::PlainName), "The bond that its network device is in; without `/`.", "", false, "bond0"},
    Key{"pci", of(Kind::Name), "PCI address.", "", false, "'0000:3b:00.0'"},
    Key{"virtual-function", of(Kind::Flag), "true: an SR-IOV function of a PCI device.", "no"},
    Key{"link-layer", one_of(kWordsOf<kSimulatedLinkLayers>), "Of the port.", "ethernet"},
    Key{"link-speed", of(Kind::Rate), "Rate of the port, at least 1Mbps.", "100Gbps"},
    Key{"mtu", between(Kind::IbMtu, 256, 4096), "Bytes.", "4096"},
    Key{"gids", of(Kind::Address, Count::OneOrSome), "Addresses."},
    Key{"pkeys", integer(0, 0xFFFF, Count::OneOrSome), "P_Keys of 16 bits; absent: 0xFFFF."},
    Key{"description", of(Kind::Description), "Description of the node."},
    Key{"traffic", or_mapping(of(Kind::Rate), kTraffic),
        "What the port moves, as its counters say; at most the link's rate."},
    Key{"port-counters", of(Kind::Flag), "false: a port that does not count.", "yes"},
    Key{"capabilities", mapping(kCapabilities), "What differs from a ConnectX-6 Dx."},
};

constexpr std::array kDevicesKeys{kVersion, Key{"devices", list(kDevice)}};

}    // namespace

constexpr Object kTraffic{"traffic", "`traffic`", kTrafficKeys};
constexpr Object kPacing{"pacing", "`pacing`", kPacingKeys};
constexpr Object kCapabilities{"capabilities", "`capabilities`", kCapabilitiesKeys};
constexpr Object kDevice{"device", "a device", kDeviceKeys};
constexpr Object kDevices{"devices", "a simulation", kDevicesKeys};

}    // namespace rdmaqos::keys
