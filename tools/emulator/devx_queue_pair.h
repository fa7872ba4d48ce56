// A queue pair that a program makes by DEVX, and not by verbs: all that is known of it is in the bytes of its commands.
#pragma once

#include <cstdint>
#include <optional>

#include <rdma/ib_user_verbs.h>

#include "lib/mlx5/prm.h"
#include "tools/emulator/datapath/hardware.h"

namespace rdmaqos::emulator {

// Its queues, as CREATE_QP places them: by offsets in memory that the program has registered for them.
struct DevxQueues {
    QueuePairMemory queues;    // the addresses are offsets
    std::uint32_t queue_memory = 0;
    std::uint32_t record_memory = 0;    // of the producer indexes
};

// Memory that a program has registered for DEVX objects.
struct DevxMemoryData {
    std::uint64_t start = 0;
    std::uint64_t length = 0;
};

// Empty: it is of a kind that moves no data here. That the numbers of memory are valid is said by the kernel, whether
// or not the program says it.
[[nodiscard]] std::optional<DevxQueues> queues_in(const mlx5::Mailbox& create);
// Empty: not all of them are in this memory.
[[nodiscard]] std::optional<QueuePairMemory> placed(const DevxQueues& queues, const DevxMemoryData& queue,
                                                    const DevxMemoryData& record);

// What a queue pair has by its context (queue_pair_context.h), as a verb would have set it.
[[nodiscard]] ib_uverbs_modify_qp attributes_in(const mlx5::Mailbox& context, bool infiniband);

}    // namespace rdmaqos::emulator
