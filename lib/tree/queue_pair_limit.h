// How a device holds the limit of a single queue pair (`per-queue-pair` of a level, or SetRate), and what to say where
// it cannot. The one place that decides it: placing queue pairs, judging a policy and simulating all ask here.
//
//     the device paces its type    pacing: kbit/s, burst and packet size within what the device states
//     else, a leaf of its own      the leaf's cap: whole Mbit/s, rounded down; neither burst nor packet size
//     else                         nobody
//
// A burst or packet size of 0 is the device's default, as if it were left out. The default packet size is the port's
// MTU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/tree/capabilities.h"
#include "lib/tree/element.h"

namespace rdmaqos {

// What a rate limit can carry on its way to a device, whatever the device takes.
inline constexpr Bandwidth kMostPacedRate = Bandwidth::from_kbps(UINT32_MAX);
inline constexpr std::uint64_t kMostBurst = UINT32_MAX;            // bytes
inline constexpr std::uint32_t kMostTypicalPacket = UINT16_MAX;    // bytes
// The least cap of a leaf: 0 would be none.
inline constexpr Bandwidth kLeastLeafRate = Bandwidth::from_mbps(1);

// InvalidArgument, with the range, for what does not fit.
[[nodiscard]] Result<void> check_range(const RateLimit& limit);

enum class LimitHolder : std::uint8_t { Nobody, Pacing, Leaf };

// The capability that is missing where a limit is not held, or not all of it.
enum class LimitGap : std::uint8_t {
    None,
    NoPacing,         // the device paces nothing, and there is no leaf for it
    PacingType,       // it paces other types, and there is no leaf for it
    PacingMinimum,    // the rate is below what it can pace
    PacingTable,      // its table of rates is full
    PacingBurst,      // the rate is held, but not the burst
    NoLeaf,           // it cannot be paced, and no leaf is left
    NoRateCaps,       // it cannot be paced, and leaves have no caps
    LeafMinimum,      // it cannot be paced, and the rate is below a leaf's least cap
    LeafBurst,        // a leaf holds the rate, but no burst
};
// "no-pacing", "pacing-type", ...: as in metrics and on the bus
[[nodiscard]] std::string_view to_string(LimitGap gap);

struct HeldLimit {
    LimitHolder by = LimitHolder::Nobody;
    std::optional<RateLimit> limit;    // as written to the device; of a leaf its cap alone; empty: nobody holds it
    LimitGap gap = LimitGap::None;
    std::string why;     // of the gap: what is missing and what to do; the same for every type that misses it
    std::string note;    // what is different from what was asked, and harms nothing; may be empty

    friend bool operator==(const HeldLimit&, const HeldLimit&) = default;
};

// Why a queue pair has no leaf of its own where it cannot be paced.
struct MissingLeaf {
    bool used_up = false;    // false: its level gives it none
    std::string why;

    friend bool operator==(const MissingLeaf&, const MissingLeaf&) = default;
};

// Of a MissingLeaf.
[[nodiscard]] std::string no_schedule(std::string_view level);
[[nodiscard]] std::string no_leaf_left(std::string_view why);

// `no_leaf` empty: the queue pair has, or would get, a leaf of its own.
[[nodiscard]] HeldLimit hold_limit(const RateLimit& asked, QueuePairType type, const Capabilities& capabilities,
                                   const std::optional<MissingLeaf>& no_leaf);

// A sentence without its full stop: "the limit of 5 Mbit/s per queue pair is not enforced: ..."; empty: all is held.
[[nodiscard]] std::string shortfall(const RateLimit& asked, const HeldLimit& held);

// The same of a limit that is not taken because not all of it would be held: "the limit of 5 Mbit/s with bursts of 64
// KiB is not set: ..."
[[nodiscard]] std::string refusal(const RateLimit& asked, const HeldLimit& held);

// "ud, raw-packet"
[[nodiscard]] std::string list_of_types(const std::set<QueuePairType>& types);

}    // namespace rdmaqos
