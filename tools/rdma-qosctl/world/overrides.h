// Properties of levels that have another value for a while, by `rdma-qosctl override`.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "policy/model/transient.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

struct OverrideView {
    std::string level;
    std::string property;       // "max-rate"
    std::string value;          // in words: "10 Gbit/s"
    std::string in_place_of;    // what holds without it; empty: not known
    Transient transient;
    std::string file;
};

// Those that the running daemon applies, in the order of its levels.
[[nodiscard]] std::vector<OverrideView> overrides_of(const std::vector<api::Level>& levels);

// "rpc max-rate 10 Gbit/s in place of 25 Gbit/s"
[[nodiscard]] std::string change_in_words(const OverrideView& view);
// "ends in 29 min", "ends in 29 min or with the cgroup /job", "ends when the host restarts"
[[nodiscard]] std::string end_in_words(const Transient& transient, std::chrono::system_clock::time_point now);
// "29 min", "2 h 5 min", "40 s"; rounded down.
[[nodiscard]] std::string time_in_words(std::chrono::seconds time);

}    // namespace rdmaqos::ctl
