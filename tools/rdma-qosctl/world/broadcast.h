// What the broadcast group of an IPoIB partition carries beside what a path of that partition gets. An IPoIB interface
// sends its broadcasts as the group says and everything else as the path does, with packets as large as the group
// allows: where the two disagree one of them is wrong. Nothing is created or joined.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/api/policy.h"
#include "lib/base/result.h"
#include "policy/model/fabric.h"

namespace rdmaqos::ctl {

enum class Verdict : std::uint8_t {
    Agrees,
    Differs,
    Unknown,    // one of the two says nothing
};

struct BroadcastField {
    std::string field;    // "sl", "mtu", "rate", "packet-life": keys of the fabric file and of QueryPath
    std::string group;    // in words; empty: the fabric file does not say
    std::string path;     // empty: the level leaves it alone
    Verdict verdict = Verdict::Unknown;
    std::string why;
};

struct BroadcastReport {
    std::string partition;
    std::uint16_t pkey = 0;    // with the membership bit, as in the group's address
    std::string mgid;
    std::string level;
    std::string rule;
    std::vector<BroadcastField> fields;

    [[nodiscard]] bool agrees() const;
};

// By name or P_Key ("0x1234", with or without the membership bit). Errors: InvalidArgument, when the fabric file has no
// such partition or says nothing of its group.
[[nodiscard]] Result<FabricPartition> find_partition(const Fabric& fabric, const std::string& name);
// The P_Key of full members, which is in the address of the group and in its members' queries.
[[nodiscard]] std::uint16_t full_member(const FabricPartition& partition);
// `path`: an answer of QueryPath for a request with this partition's P_Key.
[[nodiscard]] BroadcastReport compare_broadcast(const FabricPartition& partition, const api::PathAnswer& path);

}    // namespace rdmaqos::ctl
