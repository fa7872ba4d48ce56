#include "tools/emulator/datapath/work_request.h"

#include <algorithm>
#include <cstring>

#include <infiniband/mlx5dv.h>

namespace rdmaqos::emulator {
namespace {

constexpr std::size_t kSegment = 16;
constexpr std::size_t kDatagramSegments = 3 * kSegment;

// What is known of an opcode, and of what segments follow the control segment.
bool set_operation(WorkRequest& request)
{
    switch (request.opcode) {
    case MLX5_OPCODE_NOP:
    case MLX5_OPCODE_UMR:    // memory windows and the like: no effect
        return true;
    case MLX5_OPCODE_SEND_INVAL:
        request.invalidates = true;
        request.operation = Operation::Send;
        return true;
    case MLX5_OPCODE_SEND_IMM:
        request.has_immediate = true;
        [[fallthrough]];
    case MLX5_OPCODE_SEND:
        request.operation = Operation::Send;
        return true;
    case MLX5_OPCODE_RDMA_WRITE_IMM:
        request.has_immediate = true;
        [[fallthrough]];
    case MLX5_OPCODE_RDMA_WRITE:
        request.operation = Operation::Write;
        return true;
    case MLX5_OPCODE_RDMA_READ:
        request.operation = Operation::Read;
        return true;
    case MLX5_OPCODE_ATOMIC_CS:
        request.operation = Operation::CompareAndSwap;
        return true;
    case MLX5_OPCODE_ATOMIC_FA:
        request.operation = Operation::FetchAndAdd;
        return true;
    default:
        return false;
    }
}

// The data segments, the first of which may have the data in themselves, as UCX writes headers in front of its data.
bool add_data(WorkRequest& request, std::span<const std::uint8_t> rest)
{
    while (!rest.empty()) {
        const std::uint32_t count = be32_at(rest, 0);
        std::size_t taken = kSegment;
        if ((count & MLX5_INLINE_SEG) != 0) {
            const std::size_t length = count & ~static_cast<std::uint32_t>(MLX5_INLINE_SEG);
            if (length > rest.size() - sizeof(count) || !request.pieces.empty()) {
                return false;
            }
            const auto data = rest.subspan(sizeof(count), length);
            request.inlined.insert(request.inlined.end(), data.begin(), data.end());
            request.length += length;
            taken = (sizeof(count) + length + kSegment - 1) / kSegment * kSegment;
        } else {
            request.pieces.push_back({be32_at(rest, 4), be64_at(rest, 8), count});
            request.length += count;
        }
        rest = rest.subspan(std::min(taken, rest.size()));
    }
    return true;
}

// The segments between the control segment and the data, which it takes off `rest`.
bool add_addresses(WorkRequest& request, QueuePairType type, std::span<const std::uint8_t>& rest)
{
    const auto take = [&rest](std::size_t length) {
        const auto taken = rest.subspan(0, std::min(length, rest.size()));
        rest = rest.subspan(taken.size());
        return taken.size() == length ? taken : std::span<const std::uint8_t>();
    };
    if (type == QueuePairType::Ud) {
        const auto address = take(kDatagramSegments);
        if (address.empty() || request.operation != Operation::Send) {
            return false;
        }
        request.datagram.key = be32_at(address, 0);
        request.datagram.queue_pair = be32_at(address, 8) & 0xffffff;
        request.datagram.static_rate = address[12] >> 4;
        request.datagram.lid = static_cast<std::uint16_t>(be32_at(address, 12));
        request.datagram.dscp = dscp_of(address[26]);
        request.datagram.is_global = (be32_at(address, 28) >> 30 & 1U) != 0;
        std::ranges::copy(address.subspan(32, 16), request.datagram.gid.begin());
    }
    if (request.operation != Operation::Send) {
        const auto remote = take(kSegment);
        if (remote.empty()) {
            return false;
        }
        request.remote_address = be64_at(remote, 0);
        request.remote_key = be32_at(remote, 8);
    }
    if (request.is_atomic()) {
        const auto operands = take(kSegment);
        if (operands.empty()) {
            return false;
        }
        request.swap_or_add = be64_at(operands, 0);
        request.compare = be64_at(operands, 8);
    }
    return true;
}

}    // namespace

std::uint32_t be32_at(std::span<const std::uint8_t> bytes, std::size_t offset)
{
    std::uint32_t value = 0;
    for (std::size_t at = offset; at < offset + sizeof(value); ++at) {
        value = value << 8 | (at < bytes.size() ? bytes[at] : 0U);
    }
    return value;
}

std::uint64_t be64_at(std::span<const std::uint8_t> bytes, std::size_t offset)
{
    return std::uint64_t{be32_at(bytes, offset)} << 32 | be32_at(bytes, offset + sizeof(std::uint32_t));
}

std::uint32_t block_count(std::span<const std::uint8_t> control)
{
    constexpr std::uint32_t kSegmentsPerBlock = kBlock / kSegment;
    const std::uint32_t segments = be32_at(control, 4) & 0x3f;
    return std::max(1U, (segments + kSegmentsPerBlock - 1) / kSegmentsPerBlock);
}

std::optional<WorkRequest> parse_send(std::span<const std::uint8_t> blocks, QueuePairType type,
                                      std::uint32_t queue_pair, std::uint16_t index)
{
    const std::uint32_t first = be32_at(blocks, 0);
    const std::uint32_t second = be32_at(blocks, 4);
    const std::size_t size = (second & 0x3f) * kSegment;
    if ((first >> 8 & 0xffff) != index || second >> 8 != queue_pair || size < kSegment || size > blocks.size()) {
        return std::nullopt;
    }
    WorkRequest request;
    request.opcode = static_cast<std::uint8_t>(first);
    request.index = index;
    request.blocks = block_count(blocks);
    const std::uint8_t flags = blocks[11];
    request.is_signaled = (flags & MLX5_WQE_CTRL_CQ_UPDATE) != 0;
    request.is_solicited = (flags & MLX5_WQE_CTRL_SOLICITED) != 0;
    std::memcpy(&request.immediate, &blocks[12], sizeof(request.immediate));
    auto rest = blocks.subspan(kSegment, size - kSegment);
    if (type == QueuePairType::RawPacket) {
        return request;    // into the void
    }
    if (!set_operation(request)) {
        return std::nullopt;
    }
    if (request.operation == Operation::Nothing) {
        return request;
    }
    if (!add_addresses(request, type, rest)) {
        return std::nullopt;
    }
    if (!add_data(request, rest) || (request.fetches() && !request.inlined.empty()) ||
        (request.is_atomic() && request.length != sizeof(std::uint64_t))) {
        return std::nullopt;
    }
    return request;
}

std::vector<Piece> parse_receive(std::span<const std::uint8_t> bytes)
{
    std::vector<Piece> pieces;
    for (; bytes.size() >= kSegment; bytes = bytes.subspan(kSegment)) {
        const Piece piece{be32_at(bytes, 4), be64_at(bytes, 8), be32_at(bytes, 0)};
        if (piece.key == MLX5_INVALID_LKEY && piece.length == 0) {
            break;
        }
        pieces.push_back(piece);
    }
    return pieces;
}

}    // namespace rdmaqos::emulator
