// A level applied to a path, as OpenSM answers a PathRecord query with it: stricter of level and path for MTU and
// rate, the level's lifetime as it is, then the request's selectors, P_Key and SL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "policy/model/policy.h"
#include "policy/model/request.h"

namespace rdmaqos {

// What the path itself can do.
struct PathLimits {
    IbMtu mtu = IbMtu::Mtu4096;
    IbRate rate{};                  // must be set
    bool mtu_is_assumed = false;    // that of neither end is known
    bool rate_is_assumed = false;
    std::uint16_t valid_sl_mask = 0xFFFF;       // SLs that no hop maps to VL15
    std::vector<std::uint16_t> source_pkeys;    // with membership bit
    std::vector<std::uint16_t> destination_pkeys;
    bool pkeys_known = false;    // false: the tables above are not known and P_Keys are not checked
    bool loopback = false;
    std::uint8_t subnet_timeout = 18;
};

struct PathAnswer {
    IbMtu mtu{};
    IbRate rate{};
    std::uint8_t packet_life = 0;
    std::optional<std::uint16_t> pkey;    // empty: not known on this host
    std::optional<std::uint8_t> sl;       // empty: the level leaves it alone
    bool mtu_is_assumed = false;          // as in PathLimits
    bool rate_is_assumed = false;

    friend bool operator==(const PathAnswer&, const PathAnswer&) = default;
};

// "mtu", "rate": what of the answer is assumed.
[[nodiscard]] std::vector<std::string> assumed_of(const PathAnswer& answer);

// Which P_Key a path has, or why none.
enum class PKeyProblem : std::uint8_t {
    NotShared,            // the one asked for is not shared by both ports
    NotInLevel,           // ... is not among those of the level
    NoneShared,           // the ports share none
    NoneOfLevelShared,    // ... none of those of the level
};
struct PKeyChoice {
    std::optional<std::uint16_t> pkey;    // empty: `problem`, or not known on this host
    std::optional<PKeyProblem> problem;
};
[[nodiscard]] PKeyChoice choose_pkey(const QosLevel& level, const Request& request, const PathLimits& limits);

// Errors: NoMatchingPath with OpenSM's reason. Never a retry with another level.
[[nodiscard]] Result<PathAnswer> apply_level(const QosLevel& level, const Request& request, const PathLimits& limits);

// The path within the level's limits, before the request's selectors.
struct LimitedPath {
    IbMtu mtu{};
    IbRate rate{};
    std::uint8_t packet_life = 0;
};
[[nodiscard]] LimitedPath limit_path(const QosLevel& level, const PathLimits& limits);

}    // namespace rdmaqos
