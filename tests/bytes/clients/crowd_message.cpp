#include "tests/bytes/clients/crowd_message.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace crowd {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// A bijection: unlike words stay unlike.
std::uint64_t mix(std::uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
    return value ^ value >> 31;
}

std::uint64_t key_of(std::uint64_t direction, std::uint64_t number)
{
    return mix(mix(direction) + number);
}

std::uint64_t word_of(std::uint64_t key, std::uint64_t index)
{
    return mix(key + index * 0x9e3779b97f4a7c15ULL);
}

Kind kind_of(std::uint64_t key, std::uint64_t number)
{
    constexpr std::array kAny{Kind::Write, Kind::Write, Kind::WriteImmediate, Kind::Send,
                              Kind::Send,  Kind::Read,  Kind::SendImmediate,  Kind::Add};
    constexpr std::array kNotices{Kind::Send, Kind::WriteImmediate, Kind::SendImmediate, Kind::Send};
    return number % kNoticeEvery == kNoticeEvery - 1 ? kNotices.at(key % kNotices.size()) : kAny.at(key % kAny.size());
}

// As many small ones as large ones.
std::uint32_t length_of(std::uint64_t key)
{
    constexpr std::array<std::uint32_t, 8> kUpTo{8, 64, 96, 512, 4096, 4096, 16384, kMaxLength};
    const std::uint32_t most = kUpTo.at(key >> 8 & 7);
    constexpr std::uint64_t kExact = 16;    // now and then the largest
    return key >> 12 & (kExact - 1) ? 1 + static_cast<std::uint32_t>(key >> 16 & 0xffffff) % most : most;
}

// Another message of these two ends whose word it is, for who has to find out what went wrong.
std::string owner_of(std::uint64_t word, std::uint64_t direction, std::uint64_t number)
{
    constexpr std::uint64_t kNear = 64;
    const std::uint64_t first = number > kNear ? number - kNear : 0;
    for (const std::uint64_t side : {direction, direction ^ 1}) {
        for (std::uint64_t i = 0; i <= 2 * kNear + 1; ++i) {
            const std::uint64_t each = i > 2 * kNear ? kSource : first + i;
            for (std::uint64_t index = 0; index < kMaxLength / kWord; ++index) {
                if (word_of(key_of(side, each), index) == word) {
                    return std::string(", which is offset ") + std::to_string(index * kWord) + " of message " +
                           (each == kSource ? "(source)" : std::to_string(each)) + " of direction " +
                           std::to_string(side);
                }
            }
        }
    }
    return "";
}

// Long enough for any part of a message, which may begin within a word.
thread_local std::array<std::uint64_t, kMaxLength / kWord + 2> expected;

const std::uint8_t* expect(std::uint64_t direction, std::uint64_t number, std::uint64_t offset, std::size_t length)
{
    const std::uint64_t key = key_of(direction, number);
    const std::size_t words = (offset % kWord + length + kWord - 1) / kWord;
    for (std::size_t i = 0; i < words; ++i) {
        expected.at(i) = word_of(key, offset / kWord + i);
    }
    return reinterpret_cast<const std::uint8_t*>(expected.data()) + offset % kWord;
}

}    // namespace

const char* name_of(Kind kind)
{
    constexpr std::array<const char*, kKinds> kNames{
        "write", "write with immediate", "send", "send with immediate", "read", "read back", "fetch-and-add"};
    return kNames.at(static_cast<std::size_t>(kind));
}

Message message_at(std::uint64_t direction, std::uint64_t number)
{
    const std::uint64_t key = key_of(direction, number);
    Message message;
    message.number = number;
    message.kind = kind_of(key, number);
    message.length = length_of(key);
    message.offset = static_cast<std::uint32_t>(mix(key) % (kMaxLength - message.length + 1));
    message.immediate = static_cast<std::uint32_t>(key >> 32);
    if (message.kind == Kind::Add) {
        message.length = kWord;
        message.offset = 0;
        message.add = 1 + (key >> 20 & 0xffff);
    }
    if (message.kind == Kind::Read && number > 0 && (key >> 40 & 3) != 0) {
        const std::uint64_t before = key_of(direction, number - 1);
        if (kind_of(before, number - 1) == Kind::Write) {    // its receiver has not been told of it
            const Message written = message_at(direction, number - 1);
            message.kind = Kind::ReadBack;
            message.length = written.length;
            message.offset = written.offset;
        }
    }
    return message;
}

void fill(std::uint64_t direction, std::uint64_t number, std::uint64_t offset, std::span<std::uint8_t> to)
{
    std::memcpy(to.data(), expect(direction, number, offset, to.size()), to.size());
}

std::optional<std::string> difference(std::uint64_t direction, std::uint64_t number, std::uint64_t offset,
                                      std::span<const std::uint8_t> found)
{
    const std::uint8_t* const wanted = expect(direction, number, offset, found.size());
    if (std::memcmp(wanted, found.data(), found.size()) == 0) {
        return std::nullopt;
    }
    const auto at = static_cast<std::size_t>(std::mismatch(found.begin(), found.end(), wanted).first - found.begin());
    std::size_t wrong = 0;
    for (std::size_t i = at; i < found.size(); ++i) {
        wrong += found[i] != wanted[i] ? 1 : 0;
    }
    std::array<char, 160> text{};
    std::snprintf(text.data(), text.size(),
                  "%zu of %zu bytes are wrong, the first at offset %llu: %#04x instead of %#04x", wrong, found.size(),
                  static_cast<unsigned long long>(offset + at), found[at], wanted[at]);
    std::string answer = text.data();
    const std::size_t next_word = at + (kWord - (offset + at) % kWord) % kWord;
    if (next_word + kWord <= found.size()) {
        std::uint64_t word = 0;
        std::memcpy(&word, &found[next_word], kWord);
        std::snprintf(text.data(), text.size(), "; then %#018llx", static_cast<unsigned long long>(word));
        answer += text.data() + owner_of(word, direction, number);
    }
    return answer;
}

}    // namespace crowd
