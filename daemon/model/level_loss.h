// A level that sessions and queue pairs had until rules came into force that give them none.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace rdmaqos {

enum class LossReason : std::uint8_t {
    Removed,       // the policy has no such level any longer
    Renamed,       // it has one that gives the same under another name, and no `renamed-from` in it
    NotAllowed,    // `allow` does not include the process
    NoRule,        // they may use it, but no rule leads to it any longer, nor to another one
};
// "removed", "renamed", "not-allowed", "no-rule"
[[nodiscard]] std::string_view to_string(LossReason reason);

// One for all that lose the same level for the same reason at the same time; they forget it when they have a level
// again.
struct LostLevel {
    std::string level;
    LossReason reason = LossReason::Removed;
    std::string renamed_to;    // the level of `reason` Renamed, or the one that `renamed-from` names and `allow` closes
    bool by_reload = true;     // false: a change of the fabric or of ports, with the same policy
    std::string revision;      // of the policy that was in force then
    std::chrono::sys_seconds at;
};
// "it has no level since the reload of 2026-11-23T22:00:00Z (revision 59cedd0c884443fd), which removed level rpc"
[[nodiscard]] std::string to_sentence(const LostLevel& lost);

// How many lose a level, or would.
struct LevelLoss {
    std::string level;
    LossReason reason = LossReason::Removed;
    std::string renamed_to;    // as of LostLevel
    std::uint32_t sessions = 0;
    std::uint32_t queue_pairs = 0;

    friend bool operator==(const LevelLoss&, const LevelLoss&) = default;
};

// How many keep a level under its new name, by `renamed-from`.
struct LevelRenaming {
    std::string from;
    std::string to;
    std::uint32_t sessions = 0;
    std::uint32_t queue_pairs = 0;

    friend bool operator==(const LevelRenaming&, const LevelRenaming&) = default;
};

}    // namespace rdmaqos
