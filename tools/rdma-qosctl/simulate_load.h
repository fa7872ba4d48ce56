// Inside the loaders of simulate.h: what the tree of a policy and that of a daemon have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/rdma-qosctl/simulate.h"

namespace rdmaqos::ctl::loading {

inline constexpr std::string_view kResponder = ".responder";
inline constexpr std::string_view kResponderUse = "RDMA READ responses";

// Why a level has no place in the tree.
inline constexpr std::string_view kNoSchedule = "the policy gives it no `schedule`";
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

// What one queue pair asks for under its class's limit for each, where the device paces; says so in a note.
[[nodiscard]] std::optional<Bandwidth> limited_by_pacing(LoadedTree& loaded, std::string_view level, FairBy fair_by,
                                                         const Capabilities& capabilities, std::optional<Bandwidth> cap,
                                                         std::optional<Bandwidth> rate);

void add_demand(LoadedTree& loaded, const ElementPath& leaf, std::size_t senders, std::optional<Bandwidth> rate);
void add_note(LoadedTree& loaded, std::string note);
void add_outside(LoadedTree& loaded, std::string_view level, std::string_view why);

}    // namespace rdmaqos::ctl::loading
