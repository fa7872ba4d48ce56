// A generated policy: so many rules of mixed criteria over 100 port groups with 100 port GUIDs each. As a native file
// of OpenSM, as YAML that says the same, and the ports it is about.
#pragma once

#include <cstdint>
#include <string>

#include "policy/model/fabric.h"
#include "policy/model/request.h"

namespace rdmaqos::bench {

constexpr std::uint64_t kGroups = 100;
constexpr std::uint64_t kPortsPerGroup = 100;

// GUIDs are not neighbours, so that 10,000 stay 10,000 intervals.
[[nodiscard]] constexpr std::uint64_t guid_of(std::uint64_t group, std::uint64_t port)
{
    return 0x2c90300000000 + (group * kPortsPerGroup + port) * 4;
}

[[nodiscard]] std::string native_policy(std::uint64_t rules);
[[nodiscard]] std::string yaml_policy(std::uint64_t rules);
[[nodiscard]] Fabric fabric_of_all_ports();

// A request that this rule, and none before it, is met by; and one that no rule is met by.
[[nodiscard]] Request request_for(std::uint64_t rule);
[[nodiscard]] Request request_for_none();

}    // namespace rdmaqos::bench
