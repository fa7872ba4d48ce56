// Levels that a reload took from sessions and queue pairs that are still there: what to say of them, and what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

struct LostLevelView {
    std::string level;
    std::string reason;          // docs/dbus.md, "Lost levels"
    std::string renamed_to;      // empty: none
    std::string revision;        // of the policy that took it
    std::uint64_t at = 0;        // seconds since 1970
    std::size_t sessions = 0;    // that lost it, or some queue pairs of theirs did
    std::size_t queue_pairs = 0;
};
// By level, then time.
[[nodiscard]] std::vector<LostLevelView> lost_levels(const World& world);

// "which was removed", "which was removed; level latency is the same", "to which no rule leads any longer", ...
[[nodiscard]] std::string loss_in_words(std::string_view reason, std::string_view renamed_to);
// What gives it back.
[[nodiscard]] std::string advice_on_loss(std::string_view level, std::string_view reason, std::string_view renamed_to);
// Of a grant or a queue pair, with keys of docs/dbus.md.
[[nodiscard]] std::string advice_on_loss(const bus::Dict& dict);
// "rpc"; "none (was rpc)" where a reload took it; empty where there never was one.
[[nodiscard]] std::string level_in_words(const bus::Dict& dict);

}    // namespace rdmaqos::ctl
