// What the two ends of a link know of each other's messages without being told: message n of a direction, and every
// byte of it, follow from the number of the direction. A message that is lost, comes twice, or in another's place is
// none that is expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace crowd {

constexpr std::uint32_t kMaxLength = 65536;
// How many messages of a direction may be under way: its receiver has not looked at them yet.
constexpr unsigned kDepth = 8;
// At least so often comes one that its receiver is told of. It looks at those between then.
constexpr unsigned kNoticeEvery = 4;
constexpr std::uint32_t kMaxInline = 96;
constexpr unsigned kMaxPieces = 3;

enum class Kind : std::uint8_t { Write, WriteImmediate, Send, SendImmediate, Read, ReadBack, Add };
constexpr unsigned kKinds = 7;
[[nodiscard]] const char* name_of(Kind kind);

struct Message {
    Kind kind = Kind::Write;
    std::uint64_t number = 0;
    std::uint32_t length = 0;
    std::uint32_t offset = 0;    // in its place at the other end
    std::uint64_t add = 0;
    std::uint32_t immediate = 0;

    // Takes a receive request at the other end.
    [[nodiscard]] bool is_notice() const
    {
        return kind == Kind::Send || kind == Kind::SendImmediate || kind == Kind::WriteImmediate;
    }
    [[nodiscard]] bool has_immediate() const { return kind == Kind::SendImmediate || kind == Kind::WriteImmediate; }
    [[nodiscard]] bool is_written() const { return kind == Kind::Write || kind == Kind::WriteImmediate; }
    [[nodiscard]] bool fetches() const { return kind == Kind::Read || kind == Kind::ReadBack || kind == Kind::Add; }
};

[[nodiscard]] Message message_at(std::uint64_t direction, std::uint64_t number);

// In place of a message's number: the memory from which the other end reads.
constexpr std::uint64_t kSource = ~std::uint64_t{0};

// Bytes [offset, offset + size of `to`) of a message.
void fill(std::uint64_t direction, std::uint64_t number, std::uint64_t offset, std::span<std::uint8_t> to);
// Where `found` is not that, and what is there instead; empty: nowhere.
[[nodiscard]] std::optional<std::string> difference(std::uint64_t direction, std::uint64_t number, std::uint64_t offset,
                                                    std::span<const std::uint8_t> found);

}    // namespace crowd
