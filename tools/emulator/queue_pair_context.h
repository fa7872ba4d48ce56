// What a change of state does to the context of a queue pair: which of its fields count in which command, as the
// programmer's reference manual lists them. Only fields that verbs can query.
#pragma once

#include "lib/mlx5/prm.h"

namespace rdmaqos::emulator {

// `context` is the qpc as it is, `command` RST2INIT to 2RST, INIT2INIT or RTS2RTS, already accepted.
void apply_transition(mlx5::Mailbox& context, const mlx5::Mailbox& command);

}    // namespace rdmaqos::emulator
