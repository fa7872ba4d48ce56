// What a change of state does to the context of a queue pair: which of its fields count in which command, as the
// programmer's reference manual lists them. Only fields that verbs can query.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/mlx5/prm.h"
#include "lib/tree/capabilities.h"

namespace rdmaqos::emulator {

// Of the context's service type; empty: one that verbs do not have, or that the emulator does not.
[[nodiscard]] std::optional<QueuePairType> type_of_service(std::uint64_t service);

// `context` is the qpc as it is, `command` RST2INIT to 2RST, INIT2INIT or RTS2RTS, already accepted.
void apply_transition(mlx5::Mailbox& context, const mlx5::Mailbox& command);

}    // namespace rdmaqos::emulator
