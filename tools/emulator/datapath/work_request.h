// The work requests that libmlx5 writes into a program's queues, as values. Pure: what is read is any bytes.
//
// Layouts as in mlx5dv.h: a send request is `ds` segments of 16 bytes in blocks of 64 (a control segment, then what its
// opcode wants), a receive request is a list of data segments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/model/firmware.h"

namespace rdmaqos::emulator {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kMaxBlocks = 16;    // of one request: `ds` has 6 bits

// Memory that a request names; not looked up yet.
struct Piece {
    std::uint32_t key = 0;
    std::uint64_t address = 0;
    std::uint32_t length = 0;

    friend bool operator==(const Piece&, const Piece&) = default;
};

enum class Operation : std::uint8_t { Nothing, Send, Write, Read, CompareAndSwap, FetchAndAdd };

struct Datagram {
    std::uint32_t queue_pair = 0;
    std::uint32_t key = 0;
    std::uint16_t lid = 0;
    bool is_global = false;    // by GID, not by LID; on Ethernet it is so without this bit
    std::array<std::uint8_t, 16> gid{};
    std::uint8_t static_rate = 0;    // enum ibv_rate, of which the library writes four bits
    std::uint8_t dscp = 0;
};

struct WorkRequest {
    Operation operation = Operation::Nothing;
    std::uint8_t opcode = 0;    // as completions have it
    std::uint16_t index = 0;
    std::uint32_t blocks = 1;
    bool is_signaled = false;
    bool is_solicited = false;
    bool has_immediate = false;
    bool invalidates = false;       // a key at the other end, which is `immediate`
    std::uint32_t immediate = 0;    // as it stands there
    std::vector<Piece> pieces;
    std::vector<std::uint8_t> inlined;    // in front of the pieces
    std::uint64_t length = 0;
    std::uint64_t remote_address = 0;
    std::uint32_t remote_key = 0;
    std::uint64_t swap_or_add = 0;
    std::uint64_t compare = 0;
    Datagram datagram;

    // A send, or a write with an immediate: it takes a receive request at the other end.
    [[nodiscard]] bool consumes_receive() const
    {
        return operation == Operation::Send || (operation == Operation::Write && has_immediate);
    }
    [[nodiscard]] bool is_atomic() const
    {
        return operation == Operation::CompareAndSwap || operation == Operation::FetchAndAdd;
    }
    // Its pieces are written to.
    [[nodiscard]] bool fetches() const { return operation == Operation::Read || is_atomic(); }
};

// How many blocks the request takes that begins with these 16 bytes; at least 1, so that a queue gets ahead.
[[nodiscard]] std::uint32_t block_count(std::span<const std::uint8_t> control);

// Empty: it is none of this queue pair at this place, or of no form that is played.
[[nodiscard]] std::optional<WorkRequest> parse_send(std::span<const std::uint8_t> blocks, QueuePairType type,
                                                    std::uint32_t queue_pair, std::uint16_t index);

// `bytes`: its data segments; the list ends with them, or with a segment that says so.
[[nodiscard]] std::vector<Piece> parse_receive(std::span<const std::uint8_t> bytes);

// The upper six bits of a traffic class; the others are for congestion notification.
[[nodiscard]] constexpr std::uint8_t dscp_of(std::uint8_t traffic_class)
{
    return traffic_class >> 2U;
}

// Of big-endian memory; 0 beyond its end.
[[nodiscard]] std::uint32_t be32_at(std::span<const std::uint8_t> bytes, std::size_t offset);
[[nodiscard]] std::uint64_t be64_at(std::span<const std::uint8_t> bytes, std::size_t offset);

}    // namespace rdmaqos::emulator
