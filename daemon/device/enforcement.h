// Whether a queue pair gets what its level promises, and if not, why, in one word and in a sentence. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/device/attach_words.h"
#include "daemon/device/device_facts.h"
#include "daemon/model/session.h"

namespace rdmaqos {

// What a result says of a member, without copying names.
struct QueuePairStanding {
    const Member& member;
    const QueuePairOutcome& outcome;
    Unenforced why;      // no cause: it is enforced
    std::string note;    // of one that is
};

// Empty for a number that is not a member. The standing is valid until the facts change.
[[nodiscard]] std::optional<QueuePairStanding> queue_pair_standing(const DeviceFacts& facts, std::uint32_t number);
[[nodiscard]] std::optional<QueuePairResult> queue_pair_result(const DeviceFacts& facts, std::uint32_t number);

// Of a member that has just been attached: an error that means that it was never ours to place. Anything else is tried
// again later, as is its rate where it is in its leaf, but in a state in which it cannot be paced.
[[nodiscard]] std::optional<Error> why_not_taken(const DeviceFacts& facts, std::uint32_t number);
// Whether a queue pair can be given this limit at all; empty: that of its class.
[[nodiscard]] Result<void> can_set_rate(const DeviceFacts& facts, std::uint32_t number,
                                        const std::optional<RateLimit>& rate);
// Of a member for which a rate was asked; empty: it has it.
[[nodiscard]] std::optional<Error> why_rate_is_not_held(const DeviceFacts& facts, std::uint32_t number);
// What the owner of a queue pair that is not taken gets to read.
[[nodiscard]] QueuePairResult refused_queue_pair(const DeviceFacts& facts, const Member& member, const Error& error);

[[nodiscard]] Unenforced why_unenforced(const DeviceFacts& facts, const Member& member, const KnownQueuePair& outcome);

// Why queue pairs of this level, of which the caller has none here yet, will not get what it says. Without a cause,
// the words are what to know.
[[nodiscard]] Unenforced expected_enforcement(const DeviceFacts& facts, const Membership& membership,
                                              const Identity& owner);

// Why a member is in no leaf, in a word; empty: it is in one.
[[nodiscard]] std::string_view outside_leaf(const DeviceFacts& facts, std::uint32_t number);

// The lowest of the caps from a leaf up to the root, as they are for this process, and the link.
[[nodiscard]] Bandwidth max_rate_now(const DeviceFacts& facts, const ElementPath& leaf, pid_t pid);

// What the attach mode leaves of a class's promise; `pid`: of whom that is asked, `number`: of which queue pair.
[[nodiscard]] AttachVerdict attach_verdict(const DeviceFacts& facts, const ElementPath& class_path,
                                           std::optional<pid_t> pid,
                                           std::optional<std::uint32_t> number = std::nullopt);

}    // namespace rdmaqos
