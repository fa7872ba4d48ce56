// What the simplified rules of `qos-ulps` stand for: one table for the YAML and for OpenSM's own format.
//
//     sdp                       service-id 0x10000-0x1ffff
//     sdp, port-num R           service-id 0x10000 + R
//     rds / iser                service-id 0x10648ca / 0x1060cbc
//     rds / iser, port-num R    service-id 0x1060000 + R
//     ipoib                     pkey 0x7fff
//     ipoib|any, pkey R         pkey R
//     any, service-id R         service-id R
//     srp|any, *-port-guid R    source, destination or both: a group of those ports
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/interval_set.h"

namespace rdmaqos {

enum class Ulp : std::uint8_t { Default, Sdp, Rds, Iser, Srp, Ipoib, Any };

enum class UlpCriterion : std::uint8_t {
    PortNum,
    ServiceId,
    PKey,
    TargetPortGuid,
    SourcePortGuid,
    SourceTargetPortGuid,
};

constexpr std::uint64_t kHighestUlpPort = 0xFFFF;

struct UlpForm {
    Ulp ulp = Ulp::Default;
    std::string_view name;
    std::vector<UlpCriterion> criteria;    // one of these may stand
    bool needs_one = false;
};

// In the order of Ulp.
[[nodiscard]] const std::array<UlpForm, 7>& ulp_forms();
[[nodiscard]] const UlpForm& form_of(Ulp ulp);
// "port-num"
[[nodiscard]] std::string_view to_string(UlpCriterion criterion);

// What one entry asks for; `group_name` is empty unless `port_guids` are to become a port group of that name, which is
// then the source, the destination or both of the rule.
struct UlpMeaning {
    IntervalSet service_id;
    IntervalSet pkey;
    std::string_view group_name;
    IntervalSet port_guids;
    bool group_is_source = false;
    bool group_is_destination = false;
};

// `ranges` are those of the criterion: ports up to kHighestUlpPort, P_Keys masked to 15 bits. Ulp::Default means
// nothing.
[[nodiscard]] UlpMeaning meaning_of(Ulp ulp, std::optional<UlpCriterion> criterion, const IntervalSet& ranges);

}    // namespace rdmaqos
