// Blocks of memory with guard bytes between them, and what lies in pieces in one of them. Whatever is not in use holds
// the guard's byte, so that a byte that was written to where none belongs is found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>

#include <infiniband/verbs.h>

#include "tests/bytes/clients/crowd_message.h"

namespace crowd {

constexpr std::size_t kGuard = 64;
constexpr std::uint8_t kGuardByte = 0xa5;

// Where the first byte is that is none of the guard's; empty: nowhere.
[[nodiscard]] std::optional<std::size_t> broken_guard(std::span<const std::uint8_t> bytes);

class Area {
public:
    Area(std::size_t blocks, std::size_t bytes);
    ~Area();
    Area(const Area&) = delete;
    Area& operator=(const Area&) = delete;

    [[nodiscard]] std::span<std::uint8_t> all() { return {memory_, length_}; }
    [[nodiscard]] std::span<std::uint8_t> block(std::size_t number) { return {memory_ + place(number), bytes_}; }
    [[nodiscard]] std::size_t place(std::size_t number) const { return kGuard + number * (bytes_ + kGuard); }
    // The guards in front of the block and behind it.
    [[nodiscard]] bool is_guarded(std::size_t number) const;
    [[nodiscard]] bool is_guarded() const;
    // The block is as new.
    void clear(std::size_t number);

private:
    std::size_t blocks_;
    std::size_t bytes_;
    std::size_t length_;
    std::uint8_t* memory_;
};

// A block that is used in pieces needs so much more room.
constexpr std::size_t kGaps = (kMaxPieces - 1) * kGuard;

// `length` bytes of a block, in one to three pieces with guard bytes between them.
class Pieces {
public:
    Pieces() = default;
    Pieces(std::span<std::uint8_t> block, std::uint32_t length, unsigned most_pieces, std::mt19937_64& random);

    [[nodiscard]] ibv_sge* list(std::uint32_t key);
    [[nodiscard]] int count() const { return static_cast<int>(count_); }

    void fill(std::uint64_t direction, std::uint64_t number, std::uint64_t offset, std::uint32_t length);
    // The first `length` bytes are these of the message, and nothing else was written to; `thorough`: look at all that
    // is not in use, not only at what is next to it. All is as new afterwards.
    [[nodiscard]] std::optional<std::string> take(std::uint64_t direction, std::uint64_t number, std::uint64_t offset,
                                                  std::uint32_t length, bool thorough);
    // The same of a number that was fetched into them; empty: something else was written to.
    [[nodiscard]] std::optional<std::uint64_t> take_number();

private:
    std::span<std::uint8_t> block_;
    std::array<std::span<std::uint8_t>, kMaxPieces> pieces_;
    std::size_t count_ = 0;
    std::array<ibv_sge, kMaxPieces> list_{};
};

}    // namespace crowd
