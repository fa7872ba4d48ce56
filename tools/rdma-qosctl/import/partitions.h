// OpenSM's partitions.conf, read as OpenSM reads it: who is in which partition, and what the IPoIB broadcast group of a
// partition carries. The rules are those of OpenSM's doc/partition-config.txt and opensm/osm_prtn_config.c:
//
//     Default=0x7fff, ipoib, rate=3, mtu=4, sl=1, defmember=full : ALL=full, SELF=full ;
//     Storage=0x0010, indx0 :
//         0x0002c90300a1b2c1=full,
//         ALL_CAS ;                        # limited: the default of `defmember`
//
// A definition up to its ':' stands on one line; its ports may go on over many, until a ';'. Words may be abbreviated
// ("limi"). Definitions of one P_Key add up. The partition 0x7fff is there before the file: all ports are limited
// members, the port of the subnet manager a full one. A later specifier wins over an earlier one for the same port.
// OpenSM reads the file through a buffer whose bounds it does not watch (partition_buffer.h); what comes of it is the
// truth.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/base/net.h"
#include "policy/model/fabric.h"
#include "policy/text/read_result.h"

namespace rdmaqos {

enum class PartitionMembership : std::uint8_t {
    Limited,
    Full,
    Both,    // limited and full at once if OpenSM's `allow_both_pkeys` is on, else full
};

// What the last specifier said; a higher order is a later one.
struct Assigned {
    PartitionMembership membership = PartitionMembership::Limited;
    std::uint32_t order = 0;
};

// What a broadcast group carries; `stated` are the flags that the file gives, the rest are OpenSM's defaults.
struct BroadcastGroup {
    IpoibParameters parameters;    // sl, mtu and rate; packet_life is not in this file
    std::string stated;            // "rate, mtu"; empty: none
};

struct ConfiguredPartition {
    std::string name;          // as OpenSM stores it: at most 31 bytes; unnamed: the P_Key as "0010"; of any bytes
    std::uint16_t pkey = 0;    // 15 bits, not 0
    std::optional<BroadcastGroup> broadcast;           // of the first definition with `ipoib` that makes one
    std::string no_broadcast;                          // why none of them does: "`mtu=4096` has no valid value"
    std::array<std::optional<Assigned>, 3> by_type;    // ALL and ALL_*, by NodeType
    std::optional<Assigned> subnet_manager;            // SELF
    std::map<std::uint64_t, Assigned> ports;           // by port GUID
    std::vector<std::string> remarks;    // what a fabric file cannot say: "scope=5", "multicast group ff12::1, sl=1"
    Location location;
};

struct PartitionTable {
    std::vector<ConfiguredPartition> partitions;    // the default one, then in the order of the file
};

// OpenSM's without a file: all are full members of the default partition, which has a broadcast group.
[[nodiscard]] PartitionTable default_partitions();

// An error is what makes OpenSM drop the file; what it passes over silently is a warning.
[[nodiscard]] ReadResult<PartitionTable> read_partitions(std::shared_ptr<const SourceFile> source);

}    // namespace rdmaqos
