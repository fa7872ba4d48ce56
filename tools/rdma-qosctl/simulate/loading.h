// Inside policy_tree and live_tree: what the tree of a policy and that of a daemon have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/tree/queue_pair_limit.h"
#include "tools/rdma-qosctl/simulate/loaded_tree.h"

namespace rdmaqos::ctl::loading {

inline constexpr std::string_view kResponder = ".responder";
inline constexpr std::string_view kResponderUse = "RDMA READ responses";

// Why a level has no place in the tree.
inline constexpr std::string_view kNoSchedule = "the policy gives it no `schedule`";
inline constexpr std::string_view kOtherDevices = "its `devices`, or those of a scheduling-node above it, are others";
inline constexpr std::string_view kMonitored = "it is only monitored (`mode: monitor`)";
inline constexpr std::string_view kNoElements = "the device has no scheduling elements";
inline constexpr std::string_view kNoLeaf = "the device has no leaf for it";
inline constexpr std::string_view kNoResponder =
    "the device schedules RDMA READ responses with the requests of the level";

// "process", as in the path of a sender that is imagined: "/rpc/process-1"
[[nodiscard]] std::string_view noun_of(FairBy fair_by);
// A sender of the class may have any number of queue pairs; otherwise it is one.
[[nodiscard]] bool has_many_queue_pairs(FairBy fair_by);
// Queue pairs are capped by leaves of their own, unless the device paces every type it schedules.
[[nodiscard]] bool caps_by_leaves(const Capabilities& capabilities);

// How the device holds the limit of each queue pair of a level; the type of a queue pair that is only imagined is not
// known, so it is taken to be reliably connected if the device schedules those.
[[nodiscard]] HeldLimit hold_imagined(const Capabilities& capabilities, const RateLimit& limit);
// The same for each sender of a class, in the words of a note. A sender that has any number of queue pairs has no
// limit.
[[nodiscard]] HeldLimit hold_sender(LoadedTree& loaded, std::string_view level, FairBy fair_by,
                                    const Capabilities& capabilities, const std::optional<RateLimit>& limit);
// The rate at which it is paced, if it is.
[[nodiscard]] std::optional<Bandwidth> paced_at(const HeldLimit& held);
// The smaller one; empty: unlimited.
[[nodiscard]] std::optional<Bandwidth> at_most(std::optional<Bandwidth> a, std::optional<Bandwidth> b);

// `rate`: all that is asked for in the leaf on top of what was.
void add_demand(LoadedTree& loaded, const ElementPath& leaf, std::size_t senders, std::optional<Bandwidth> rate);
void add_note(LoadedTree& loaded, std::string note);
// If the device's default share, whose value is not known, decides who gets what.
void add_share_note(LoadedTree& loaded);
// Queue pairs in no leaf: each competes as a whole tree does. `name`: of the load.
void add_beside_tree(LoadedTree& loaded, std::string_view name, std::uint8_t dscp, std::size_t senders,
                     std::optional<Bandwidth> each);
void add_outside(LoadedTree& loaded, std::string_view level, std::string_view why);

}    // namespace rdmaqos::ctl::loading
