#include "tools/emulator/devx_queue_pair.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include "tools/emulator/queue_pair_context.h"

namespace rdmaqos::test {
namespace {

using namespace emulator;
using namespace mlx5;
using namespace mlx5::prm;

constexpr bool kOnInfiniband = true;
constexpr bool kOnEthernet = false;

// As UCX makes them: without saying that numbers of memory are valid.
Mailbox create_command()
{
    Mailbox command(kCreateQpBytes);
    set(command, kOpcode, CreateQp);
    const auto put = [&](Field field, std::uint64_t value) { set(command, at(kQpc, field), value); };
    put(qpc::kPd, 5);
    put(qpc::kLogReceives, 3);
    put(qpc::kLogReceiveStride, 2);
    put(qpc::kLogSendBlocks, 4);
    put(qpc::kUarPage, 9);
    put(qpc::kUserIndex, 0xffffff);
    put(qpc::kSendCq, 13);
    put(qpc::kReceiveCq, 14);
    put(qpc::kDoorbellMemory, 27);
    put(qpc::kDoorbellOffset, 0x40);
    set(command, kQueueMemory, 26);
    set(command, kQueueMemoryOffset, 0x100);
    return command;
}

// 8 receives of 64 bytes and 16 blocks of 64 behind them, from 0x100 on.
constexpr std::uint64_t kEnd = 0x100 + 8 * 64 + 16 * 64;

TEST(EmulatorDevxQueuePair, QueuesAreWhereTheCommandSays)
{
    const auto found = queues_in(create_command());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->queue_memory, 26U);
    EXPECT_EQ(found->record_memory, 27U);
    const auto memory = placed(*found, {0x10000, kEnd}, {0x20000, 0x48});
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->type, QueuePairType::Rc);
    EXPECT_EQ(memory->receive_buffer, 0x10100U);
    EXPECT_EQ(memory->receive_entries, 8U);
    EXPECT_EQ(memory->receive_stride, 64U);
    EXPECT_EQ(memory->send_buffer, 0x10300U);
    EXPECT_EQ(memory->send_blocks, 16U);
    EXPECT_EQ(memory->record, 0x20040U);
    EXPECT_EQ(memory->user_index, 0xffffffU);
    EXPECT_EQ(memory->page, 9U);
    EXPECT_EQ(memory->domain, 5U);
    EXPECT_EQ(memory->send_queue, 13U);
    EXPECT_EQ(memory->receive_queue, 14U);
    EXPECT_EQ(memory->shared_receive_queue, 0U);
}

TEST(EmulatorDevxQueuePair, WithASharedReceiveQueueOrNoneOnlyRequestsAreInIt)
{
    Mailbox command = create_command();
    set(command, at(kQpc, qpc::kReceiveType), qpc::kSharedReceives);
    set(command, at(kQpc, qpc::kSharedReceiveQueue), 16);
    const auto shared = queues_in(command);
    ASSERT_TRUE(shared);
    EXPECT_EQ(shared->queues.shared_receive_queue, 16U);
    EXPECT_EQ(shared->queues.receive_entries, 0U);
    EXPECT_EQ(shared->queues.send_buffer, 0x100U);

    constexpr std::uint64_t kNone = 3;
    set(command, at(kQpc, qpc::kReceiveType), kNone);
    set(command, at(kQpc, qpc::kNoSendQueue), 1);
    const auto neither = queues_in(command);
    ASSERT_TRUE(neither);
    EXPECT_EQ(neither->queues.shared_receive_queue, 0U);
    EXPECT_EQ(neither->queues.receive_entries, 0U);
    EXPECT_EQ(neither->queues.send_blocks, 0U);
}

TEST(EmulatorDevxQueuePair, WhatIsNotInItsMemoryIsNowhere)
{
    const auto found = queues_in(create_command());
    ASSERT_TRUE(found);
    EXPECT_FALSE(placed(*found, {0x10000, kEnd - 1}, {0x20000, 0x48}));
    EXPECT_FALSE(placed(*found, {0x10000, kEnd}, {0x20000, 0x47}));
    EXPECT_FALSE(placed(*found, {0x10000, 0x80}, {0x20000, 0x48}));

    Mailbox far = create_command();
    set(far, kQueueMemoryOffset, ~std::uint64_t{0} - 0x10);
    EXPECT_FALSE(placed(queues_in(far).value(), {0x10000, kEnd}, {0x20000, 0x48}));
}

TEST(EmulatorDevxQueuePair, DynamicallyConnectedOnesMoveNothing)
{
    constexpr std::uint64_t kDci = 5;
    Mailbox command = create_command();
    set(command, at(kQpc, qpc::kServiceType), kDci);
    EXPECT_FALSE(queues_in(command));
    EXPECT_TRUE(queues_in(Mailbox(16))) << "a header alone is one of zeros";
}

// Its life to RTS, of which each command has a part.
Mailbox connected()
{
    Mailbox context(kQpcBytes);
    Mailbox command(kCreateQpBytes);
    const auto put = [&](Field field, std::uint64_t value) { set(command, at(kQpc, field), value); };
    const auto put_path = [&](Field field, std::uint64_t value) { put(at(qpc::kPath, field), value); };
    put(qpc::kPort, 1);
    put(qpc::kRemoteWrite, 1);
    put(qpc::kRemoteRead, 1);
    put(qpc::kMtu, IBV_MTU_2048);
    put(qpc::kRemoteQpn, 0x123456);
    put(qpc::kNextReceivePsn, 7);
    put(qpc::kMinRnrNak, 12);
    put_path(path::kGlobal, 1);
    put_path(path::kLid, 3);
    put_path(path::kSl, 4);
    put_path(path::kEthPriority, 2);
    put_path(path::kDscp, 26);
    put_path(path::kTrafficClass, 0x22);
    put_path(path::kStaticRate, 2);
    put_path({path::kGid + 8 * 15, 8}, 0x99);
    put(qpc::kNextSendPsn, 8);
    put(qpc::kRetryCount, 6);
    put(qpc::kRnrRetry, 5);
    put(qpc::kAckTimeout, 14);
    for (const auto opcode : {Rst2Init, Init2Rtr, Rtr2Rts}) {
        set(command, kOpcode, opcode);
        apply_transition(context, command);
    }
    return context;
}

TEST(EmulatorDevxQueuePair, ItsContextSaysWhatAVerbWould)
{
    const auto attributes = attributes_in(connected(), kOnEthernet);
    EXPECT_EQ(attributes.dest_qp_num, 0x123456U);
    EXPECT_EQ(attributes.sq_psn, 8U);
    EXPECT_EQ(attributes.rq_psn, 7U);
    EXPECT_EQ(attributes.qp_access_flags, static_cast<std::uint32_t>(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ));
    EXPECT_EQ(attributes.path_mtu, IBV_MTU_2048);
    EXPECT_EQ(attributes.port_num, 1);
    EXPECT_EQ(attributes.timeout, 14);
    EXPECT_EQ(attributes.retry_cnt, 6);
    EXPECT_EQ(attributes.rnr_retry, 5);
    EXPECT_EQ(attributes.min_rnr_timer, 12);
    EXPECT_EQ(attributes.dest.is_global, 1);
    EXPECT_EQ(attributes.dest.dgid[15], 0x99);
    EXPECT_EQ(attributes.dest.static_rate, IBV_RATE_25_GBPS);
    EXPECT_EQ(attributes.dest.traffic_class, 26 << 2) << "the DSCP counts, not the traffic class of InfiniBand";
    EXPECT_EQ(attributes.dest.sl, 2);
    EXPECT_EQ(attributes.dest.dlid, 0);
}

TEST(EmulatorDevxQueuePair, OnInfiniBandTheAddressIsALid)
{
    const auto attributes = attributes_in(connected(), kOnInfiniband);
    EXPECT_EQ(attributes.dest.dlid, 3);
    EXPECT_EQ(attributes.dest.sl, 4);
    EXPECT_EQ(attributes.dest.traffic_class, 0x22);
}

}    // namespace
}    // namespace rdmaqos::test
