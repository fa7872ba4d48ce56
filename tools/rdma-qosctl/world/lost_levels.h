// Levels that a reload took from sessions and queue pairs that are still there: what to say of them, and what to do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

struct LostLevelView : api::Lost {
    std::size_t sessions = 0;    // that lost it, or some queue pairs of theirs did
    std::size_t queue_pairs = 0;
};
// By level, then time.
[[nodiscard]] std::vector<LostLevelView> lost_levels(const World& world);

// "which was removed", "which was removed; level latency is the same", "to which no rule leads any longer", ...
[[nodiscard]] std::string loss_in_words(const api::Lost& lost);
// What gives it back.
[[nodiscard]] std::string advice_on_loss(const api::Lost& lost);
// "rpc"; "none (was rpc)" where a reload took it; empty where there never was one.
[[nodiscard]] std::string level_in_words(const std::string& level, const std::optional<api::Lost>& lost);
[[nodiscard]] std::string level_in_words(const SessionView& session);

}    // namespace rdmaqos::ctl
