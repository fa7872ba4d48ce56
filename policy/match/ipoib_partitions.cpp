#include "policy/match/ipoib_partitions.h"

#include <optional>

#include <fmt/format.h>

#include "policy/model/fabric_directory.h"

namespace rdmaqos {
namespace {

// The first of these partitions that `good` does not have.
std::optional<std::uint64_t> first_missing(const IntervalSet& asked, const IntervalSet& good)
{
    for (const Interval& interval : asked.intervals()) {
        for (std::uint64_t pkey = interval.first; pkey <= interval.last; ++pkey) {
            if (!good.contains(pkey)) {
                return pkey;
            }
        }
    }
    return std::nullopt;
}

}    // namespace

Diagnostics warnings_of_ipoib(const Policy& policy, const Fabric& fabric, const std::vector<LocalPort>& local)
{
    Diagnostics diagnostics;
    if (fabric.ports.empty()) {
        return diagnostics;
    }
    const FabricDirectory directory(policy, fabric, local);
    const IntervalSet good = directory.partitions_with(2);
    for (const MatchRule& rule : policy.rules) {
        const bool is_ipoib = rule.origin == RuleOrigin::Ulp && rule.ulp.starts_with("ipoib");
        const auto missing = is_ipoib ? first_missing(rule.pkey, good) : std::nullopt;
        if (!missing) {
            continue;
        }
        const bool exists = directory.has_partition({*missing, *missing});
        diagnostics
            .warning(rule.location, fmt::format("by the fabric file the partition with P_Key 0x{:04x} {}", *missing,
                                                exists ? "has fewer than two full members" : "does not exist"))
            .hint = exists ? "IPoIB does not work there" : "this entry matches nothing until a port has this P_Key";
    }
    return diagnostics;
}

}    // namespace rdmaqos
