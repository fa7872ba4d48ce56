#include "tools/emulator/devx_queue_pair.h"

#include <infiniband/verbs.h>

#include "tools/emulator/address_path.h"
#include "tools/emulator/queue_pair_context.h"

namespace rdmaqos::emulator {
namespace {

using namespace mlx5;
using namespace mlx5::prm;

constexpr std::uint64_t kSendBlockBytes = 64;

std::uint32_t number_in(const Mailbox& mailbox, Field field)
{
    return static_cast<std::uint32_t>(get(mailbox, field));
}

bool is_inside(const DevxMemoryData& memory, std::uint64_t offset, std::uint64_t length)
{
    return offset <= memory.length && length <= memory.length - offset;
}

}    // namespace

std::optional<DevxQueues> queues_in(const Mailbox& create)
{
    const auto type = type_of_service(get(create, at(kQpc, qpc::kServiceType)));
    if (!type) {
        return std::nullopt;
    }
    DevxQueues found;
    found.queue_memory = number_in(create, kQueueMemory);
    found.record_memory = number_in(create, at(kQpc, qpc::kDoorbellMemory));
    QueuePairMemory& queues = found.queues;
    queues.type = *type;
    queues.record = get(create, at(kQpc, qpc::kDoorbellOffset));
    queues.receive_buffer = get(create, kQueueMemoryOffset);
    queues.receive_stride = 16U << get(create, at(kQpc, qpc::kLogReceiveStride));
    const auto receives = get(create, at(kQpc, qpc::kReceiveType));
    queues.receive_entries = receives == qpc::kOwnReceives ? 1U << get(create, at(kQpc, qpc::kLogReceives)) : 0;
    queues.shared_receive_queue = receives == qpc::kSharedReceives
                                      ? number_in(create, at(kQpc, qpc::kSharedReceiveQueue))
                                      : 0;
    queues.send_buffer = queues.receive_buffer + std::uint64_t{queues.receive_entries} * queues.receive_stride;
    queues.send_blocks = get(create, at(kQpc, qpc::kNoSendQueue)) == 0
                             ? 1U << get(create, at(kQpc, qpc::kLogSendBlocks))
                             : 0;
    queues.user_index = number_in(create, at(kQpc, qpc::kUserIndex));
    queues.page = number_in(create, at(kQpc, qpc::kUarPage));
    queues.domain = number_in(create, at(kQpc, qpc::kPd));
    queues.send_queue = number_in(create, at(kQpc, qpc::kSendCq));
    queues.receive_queue = number_in(create, at(kQpc, qpc::kReceiveCq));
    return found;
}

std::optional<QueuePairMemory> placed(const DevxQueues& queues, const DevxMemoryData& queue,
                                      const DevxMemoryData& record)
{
    constexpr std::uint64_t kRecordBytes = 8;
    const QueuePairMemory& offsets = queues.queues;
    const std::uint64_t length = std::uint64_t{offsets.receive_entries} * offsets.receive_stride +
                                 offsets.send_blocks * kSendBlockBytes;
    if (!is_inside(queue, offsets.receive_buffer, length) || !is_inside(record, offsets.record, kRecordBytes)) {
        return std::nullopt;
    }
    QueuePairMemory memory = offsets;
    memory.receive_buffer += queue.start;
    memory.send_buffer += queue.start;
    memory.record += record.start;
    return memory;
}

ib_uverbs_modify_qp attributes_in(const Mailbox& context, bool infiniband)
{
    ib_uverbs_modify_qp attributes{};
    attributes.dest = address_in(context, infiniband);
    attributes.dest_qp_num = number_in(context, qpc::kRemoteQpn);
    attributes.sq_psn = number_in(context, qpc::kNextSendPsn);
    attributes.rq_psn = number_in(context, qpc::kNextReceivePsn);
    attributes.qkey = number_in(context, qpc::kQkey);
    attributes.qp_access_flags = (get(context, qpc::kRemoteWrite) != 0 ? IBV_ACCESS_REMOTE_WRITE : 0) |
                                 (get(context, qpc::kRemoteRead) != 0 ? IBV_ACCESS_REMOTE_READ : 0) |
                                 (get(context, qpc::kRemoteAtomic) != 0 ? IBV_ACCESS_REMOTE_ATOMIC : 0);
    attributes.port_num = attributes.dest.port_num;
    attributes.path_mtu = static_cast<std::uint8_t>(get(context, qpc::kMtu));
    attributes.timeout = static_cast<std::uint8_t>(get(context, qpc::kAckTimeout));
    attributes.retry_cnt = static_cast<std::uint8_t>(get(context, qpc::kRetryCount));
    attributes.rnr_retry = static_cast<std::uint8_t>(get(context, qpc::kRnrRetry));
    attributes.min_rnr_timer = static_cast<std::uint8_t>(get(context, qpc::kMinRnrNak));
    return attributes;
}

}    // namespace rdmaqos::emulator
