// All queue pairs of the host, as the kernel tells, and what the daemon knows of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/model/session.h"
#include "lib/rdma_netlink/queue_pairs.h"
#include "policy/model/identity.h"

namespace rdmaqos {

struct HostQueuePair {
    std::string device;    // "mlx5_0": a queue pair that was never set up has no port yet
    rdma_netlink::TrackedQueuePair tracked;
    std::shared_ptr<const Identity> owner;    // null: the kernel's own, or the kernel does not tell

    friend bool operator==(const HostQueuePair&, const HostQueuePair&) = default;
};

struct HostSurvey {
    std::vector<HostQueuePair> queue_pairs;         // by device and number
    std::map<std::string, std::size_t> left_out;    // of devices: how many more they have than are looked at
    std::map<std::string, std::string> failures;    // devices that could not be asked, "" for all: why
};

// Why a queue pair is in no leaf, if it is not for a cause of Unenforced.
inline constexpr std::string_view kOfKernel = "kernel";
inline constexpr std::string_view kUnmanaged = "unmanaged-device";
inline constexpr std::string_view kUnregistered = "unregistered";
inline constexpr std::string_view kNotAttached = "not-attached";
inline constexpr std::string_view kOwnerUnknown = "owner-unknown";
inline constexpr std::string_view kPacedOnly = "paced-only";         // its level gives it a rate, and no leaf
inline constexpr std::string_view kNotLookedAt = "not-looked-at";    // the host has too many
// With `unregistered: adopt`, instead of kUnregistered.
inline constexpr std::string_view kNoRule = "no-rule";                // concerns its program
inline constexpr std::string_view kNotScheduled = "no-schedule";      // its level has no `schedule`
inline constexpr std::string_view kExcluded = "excluded";             // by `adopt: no`
inline constexpr std::string_view kNotReady = "not-ready";            // it is adopted when it may send (RTS)
inline constexpr std::string_view kNotAdoptable = "not-adoptable";    // HostStanding::reason says why

// What the daemon knows of one.
struct HostStanding {
    std::string device;                       // its key, "mlx5_0/1"; empty: the daemon does not manage it
    std::optional<SessionId> session;         // that attached it
    std::optional<QueuePairResult> result;    // of that session
    std::string_view outside;                 // why it is in no leaf, in a word; empty: it is in one
    std::string reason{};                     // the same in a sentence, with what to do; empty: the word says it all
    std::optional<QueuePairMark> mark{};      // as last read; of queue pairs of sessions
    std::string_view mark_unseen{};           // why it is not known; empty: it is, or there is no session
    std::string level{};    // without a session: that it would be in, if that were not only monitored; empty: none
};

// How many of a device are in a leaf (`outside` is empty), or in none for this reason. Devices are named by their keys,
// as HostStanding does; those that are not managed by their names.
using HostCounts = std::map<std::pair<std::string, std::string_view>, std::size_t>;    // device, outside

// "Outside", in every report: queue pairs of programs that are in no leaf, whether or not a session has attached them.
// What they send competes with the whole tree.
[[nodiscard]] constexpr bool is_outside(std::string_view outside)
{
    return !outside.empty() && outside != kOfKernel;
}
[[nodiscard]] inline std::size_t outside_on(const HostCounts& counts, const std::string& key)
{
    std::size_t outside = 0;
    for (const auto& [of, count] : counts) {
        outside += of.first == key && is_outside(of.second) ? count : 0;
    }
    return outside;
}

}    // namespace rdmaqos
