#include "tools/emulator/datapath/work_request.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <infiniband/mlx5dv.h>

#include "tools/emulator/datapath/completion.h"

namespace rdmaqos::emulator {
namespace {

constexpr std::uint32_t kQueuePair = 0x123456;
constexpr std::uint16_t kIndex = 0xfffe;

// A request as a program writes it, by the structures of mlx5dv.h.
class Written {
public:
    explicit Written(std::uint8_t opcode, std::uint8_t flags = 0, std::uint32_t immediate = 0)
        : opcode_(opcode), flags_(flags), immediate_(immediate), bytes_(sizeof(mlx5_wqe_ctrl_seg))
    {
    }
    Written& remote(std::uint64_t address, std::uint32_t key)
    {
        return add(mlx5_wqe_raddr_seg{htobe64(address), htobe32(key), 0});
    }
    Written& atomic(std::uint64_t swap_or_add, std::uint64_t compare)
    {
        return add(mlx5_wqe_atomic_seg{htobe64(swap_or_add), htobe64(compare)});
    }
    Written& data(std::uint32_t length, std::uint32_t key, std::uint64_t address)
    {
        mlx5_wqe_data_seg segment{};
        mlx5dv_set_data_seg(&segment, length, key, address);
        return add(segment);
    }
    Written& inlined(const std::string& text)
    {
        add(htobe32(static_cast<std::uint32_t>(MLX5_INLINE_SEG | text.size())));
        bytes_.insert(bytes_.end(), text.begin(), text.end());
        bytes_.resize((bytes_.size() + 15) / 16 * 16);
        return *this;
    }
    template <typename T>
    Written& add(const T& part)
    {
        const auto* begin = reinterpret_cast<const std::uint8_t*>(&part);
        bytes_.insert(bytes_.end(), begin, begin + sizeof(part));
        return *this;
    }
    [[nodiscard]] std::vector<std::uint8_t> bytes() const
    {
        auto whole = bytes_;
        mlx5dv_set_ctrl_seg(reinterpret_cast<mlx5_wqe_ctrl_seg*>(whole.data()), kIndex, opcode_, 0, kQueuePair, flags_,
                            static_cast<std::uint8_t>(whole.size() / 16), 0, immediate_);
        whole.resize((whole.size() + kBlock - 1) / kBlock * kBlock);
        return whole;
    }
    [[nodiscard]] std::optional<WorkRequest> parsed(QueuePairType type = QueuePairType::Rc) const
    {
        return parse_send(bytes(), type, kQueuePair, kIndex);
    }

private:
    const std::uint8_t opcode_;
    const std::uint8_t flags_;
    const std::uint32_t immediate_;
    std::vector<std::uint8_t> bytes_;
};

TEST(WorkRequest, Write)
{
    const auto request = Written(MLX5_OPCODE_RDMA_WRITE, MLX5_WQE_CTRL_CQ_UPDATE)
                             .remote(0x7f0011223344, 0xabcd)
                             .data(4096, 0x100, 0x1000)
                             .data(1, 0x200, 0x5000)
                             .parsed();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->operation, Operation::Write);
    EXPECT_FALSE(request->consumes_receive());
    EXPECT_TRUE(request->is_signaled);
    EXPECT_EQ(request->index, kIndex);
    EXPECT_EQ(request->remote_address, 0x7f0011223344U);
    EXPECT_EQ(request->remote_key, 0xabcdU);
    EXPECT_EQ(request->length, 4097U);
    EXPECT_EQ(request->pieces, (std::vector<Piece>{{0x100, 0x1000, 4096}, {0x200, 0x5000, 1}}));
    EXPECT_EQ(request->blocks, 1U);
}

TEST(WorkRequest, WhatTakesAReceiveRequest)
{
    for (const auto opcode : {MLX5_OPCODE_SEND, MLX5_OPCODE_SEND_IMM, MLX5_OPCODE_SEND_INVAL}) {
        const auto request = Written(opcode, MLX5_WQE_CTRL_SOLICITED, 0x11223344).data(8, 1, 2).parsed();
        ASSERT_TRUE(request);
        EXPECT_TRUE(request->consumes_receive());
        EXPECT_TRUE(request->is_solicited);
        EXPECT_FALSE(request->is_signaled);
        EXPECT_EQ(request->immediate, 0x11223344U);
        EXPECT_EQ(request->has_immediate, opcode == MLX5_OPCODE_SEND_IMM);
    }
    EXPECT_TRUE(Written(MLX5_OPCODE_RDMA_WRITE_IMM).remote(1, 2).parsed()->consumes_receive());
}

TEST(WorkRequest, Atomics)
{
    const auto add = Written(MLX5_OPCODE_ATOMIC_FA).remote(8, 2).atomic(5, 0).data(8, 1, 64).parsed();
    ASSERT_TRUE(add);
    EXPECT_EQ(add->operation, Operation::FetchAndAdd);
    EXPECT_EQ(add->swap_or_add, 5U);
    EXPECT_TRUE(add->fetches());
    const auto swap = Written(MLX5_OPCODE_ATOMIC_CS).remote(8, 2).atomic(5, 6).data(8, 1, 64).parsed();
    ASSERT_TRUE(swap);
    EXPECT_EQ(swap->compare, 6U);
    EXPECT_FALSE(Written(MLX5_OPCODE_ATOMIC_FA).remote(8, 2).atomic(5, 0).data(4, 1, 64).parsed()) << "not 8 bytes";
}

TEST(WorkRequest, InlineDataGoesOverBlocks)
{
    const std::string text(200, 'x');
    const auto request = Written(MLX5_OPCODE_SEND).inlined(text).parsed();
    ASSERT_TRUE(request);
    EXPECT_EQ(std::string(request->inlined.begin(), request->inlined.end()), text);
    EXPECT_EQ(request->length, 200U);
    EXPECT_EQ(request->blocks, 4U);
    EXPECT_FALSE(Written(MLX5_OPCODE_RDMA_READ).remote(1, 2).inlined("x").parsed()) << "there is nothing to write to";
}

TEST(WorkRequest, InlineDataStandsInFrontOfPieces)
{
    const auto request = Written(MLX5_OPCODE_SEND).inlined("header").data(4096, 0x100, 0x1000).parsed();
    ASSERT_TRUE(request);
    EXPECT_EQ(std::string(request->inlined.begin(), request->inlined.end()), "header");
    EXPECT_EQ(request->pieces, (std::vector<Piece>{{0x100, 0x1000, 4096}}));
    EXPECT_EQ(request->length, 4102U);
    EXPECT_FALSE(Written(MLX5_OPCODE_SEND).data(1, 2, 3).inlined("footer").parsed()) << "behind them";
}

TEST(WorkRequest, Datagrams)
{
    mlx5_wqe_datagram_seg address{};
    std::array<std::uint8_t, 16> gid{};
    std::ranges::fill(gid, 0xfd);
    std::array<std::uint8_t, 6> mac{};
    mlx5dv_set_dgram_seg(&address, std::uint64_t{0x11111111} << 32, 0x77, 1, 0, 0, 0x21, mac.data(), 26 << 2 | 2, 64,
                         1U << 30, gid.data());
    const auto request = Written(MLX5_OPCODE_SEND).add(address).data(64, 1, 2).parsed(QueuePairType::Ud);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->datagram.queue_pair, 0x77U);
    EXPECT_EQ(request->datagram.key, 0x11111111U);
    EXPECT_EQ(request->datagram.lid, 0x21U);
    EXPECT_TRUE(request->datagram.is_global);
    EXPECT_EQ(request->datagram.gid, gid);
    EXPECT_EQ(request->datagram.dscp, 26);
    EXPECT_EQ(request->length, 64U);
    EXPECT_FALSE(Written(MLX5_OPCODE_RDMA_WRITE).add(address).remote(1, 2).parsed(QueuePairType::Ud));
}

TEST(WorkRequest, WhatIsNone)
{
    const auto good = Written(MLX5_OPCODE_SEND).data(8, 1, 2).bytes();
    EXPECT_TRUE(parse_send(good, QueuePairType::Rc, kQueuePair, kIndex));
    EXPECT_FALSE(parse_send(good, QueuePairType::Rc, kQueuePair + 1, kIndex)) << "another queue pair's";
    EXPECT_FALSE(parse_send(good, QueuePairType::Rc, kQueuePair, 0)) << "of another place";
    EXPECT_FALSE(parse_send(std::span(good).first(16), QueuePairType::Rc, kQueuePair, kIndex)) << "cut off";
    EXPECT_FALSE(parse_send({}, QueuePairType::Rc, kQueuePair, kIndex));
    EXPECT_FALSE(Written(MLX5_OPCODE_TAG_MATCHING).data(8, 1, 2).parsed());
    EXPECT_FALSE(Written(MLX5_OPCODE_RDMA_WRITE).parsed()) << "to nowhere";
    EXPECT_EQ(block_count({}), 1U) << "so that a queue gets ahead";
}

TEST(WorkRequest, ReceiveEndsWithItsMark)
{
    std::vector<std::uint8_t> bytes;
    for (const auto& [length, key, address] :
         {std::tuple(100U, 7U, 0x1000U), {0U, unsigned{MLX5_INVALID_LKEY}, 0U}, {5U, 5U, 5U}}) {
        mlx5_wqe_data_seg segment{};
        mlx5dv_set_data_seg(&segment, length, key, address);
        const auto* begin = reinterpret_cast<const std::uint8_t*>(&segment);
        bytes.insert(bytes.end(), begin, begin + sizeof(segment));
    }
    EXPECT_EQ(parse_receive(bytes), (std::vector<Piece>{{7, 0x1000, 100}}));
    EXPECT_TRUE(parse_receive({}).empty());
    EXPECT_EQ(parse_receive(std::span(bytes).first(20)).size(), 1U);
}

TEST(Completion, IsWhatTheLibraryReads)
{
    Completion completion;
    completion.kind = MLX5_CQE_RESP_SEND_IMM;
    completion.user_index = 5;
    completion.queue_pair = kQueuePair;
    completion.source = 0x42;
    completion.has_route = true;
    completion.opcode = MLX5_OPCODE_SEND;
    completion.index = kIndex;
    completion.bytes = 4096;
    completion.immediate = 0x01020304;
    completion.is_solicited = true;
    auto bytes = encode(completion, 3, 99);
    auto* read = reinterpret_cast<mlx5_cqe64*>(bytes.data());
    EXPECT_EQ(mlx5dv_get_cqe_owner(read), 1) << "the third time through";
    EXPECT_EQ(mlx5dv_get_cqe_se(read), 1);
    EXPECT_EQ(mlx5dv_get_cqe_opcode(read), MLX5_CQE_RESP_SEND_IMM);
    EXPECT_EQ(be32toh(read->srqn_uidx), 5U);
    EXPECT_EQ(be32toh(read->byte_cnt), 4096U);
    EXPECT_EQ(read->imm_inval_pkey, 0x01020304U);
    EXPECT_EQ(be64toh(read->timestamp), 99U);
    EXPECT_EQ(be32toh(read->sop_drop_qpn), std::uint32_t{MLX5_OPCODE_SEND} << 24 | kQueuePair);
    EXPECT_EQ(be16toh(read->wqe_counter), kIndex);
    EXPECT_EQ(be32toh(read->flags_rqpn), 1U << 28 | 0x42U);

    completion.kind = MLX5_CQE_REQ_ERR;
    completion.syndrome = MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
    bytes = encode(completion, 2, 99);
    EXPECT_EQ(mlx5dv_get_cqe_owner(read), 0);
    EXPECT_EQ(reinterpret_cast<mlx5_err_cqe*>(bytes.data())->syndrome, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
}

}    // namespace
}    // namespace rdmaqos::emulator
