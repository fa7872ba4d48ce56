// Commands of an mlx5 device, mailbox in, mailbox out, answered by lib/model's firmware: scheduling elements, queue
// pairs, the leaf of a send queue, capabilities. The emulator gives it the commands that programs send by DEVX, the
// firmware of a kernel's device (kernel_firmware.h) those of the kernel's command queue.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/mlx5/prm.h"
#include "lib/model/firmware.h"
#include "tools/emulator/call.h"

namespace rdmaqos::emulator {

struct FirmwareCommand {
    ContextId context = kHostContext;    // who asks: the uid
    // What the firmware calls the queue pair that the command is about; of CREATE_QP, the number it gets. Of MODIFY_SQ
    // that of the queue pair which the send queue belongs to.
    std::uint32_t queue_pair = 0;
    const mlx5::Mailbox& mailbox;
};

struct FirmwareAnswer {
    mlx5::Mailbox mailbox;    // whole: of a refusal, with status and syndrome
    std::optional<Refusal> refusal;
    Notes notes;    // for a trace: what was asked for, decoded
};

// Delays of ordered faults pass in the calling thread. `ports`: how many the device says it has.
[[nodiscard]] FirmwareAnswer execute(Firmware& firmware, std::size_t ports, const FirmwareCommand& command);

// Of a command that is not played, or not in this form.
[[nodiscard]] Refusal not_played(std::uint64_t opcode);
// The mailbox that says so.
[[nodiscard]] mlx5::Mailbox mailbox_of(const Refusal& refusal);

// What a queue pair's context has as its state: RST, INIT, RTR, RTS, SQER, SQD, ERR.
[[nodiscard]] std::uint8_t hardware_state(QueuePairState state);
// Into the answer to QUERY_QP, if the query asks for the extended context.
void add_leaves(mlx5::Mailbox& answer, const QueuePairRecord& queue_pair, const mlx5::Mailbox& query);

}    // namespace rdmaqos::emulator
