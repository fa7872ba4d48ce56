// Messages of netlink (linux/netlink.h). What is read may be any bytes. Pure.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <linux/netlink.h>

namespace rdmaqos::netlink {

using Bytes = std::span<const std::uint8_t>;

// Adds an attribute to the attributes of a request.
void append(std::vector<std::uint8_t>& attributes, std::uint16_t type, std::uint32_t value);
void append(std::vector<std::uint8_t>& attributes, std::uint16_t type, const std::string& text);
void append(std::vector<std::uint8_t>& attributes, std::uint16_t type, Bytes content);

// The content of the first attribute of a type; empty if there is none.
[[nodiscard]] Bytes content_of(Bytes attributes, std::uint16_t type);
// Empty where there is none, or none of this size.
[[nodiscard]] std::optional<std::uint32_t> number_in(Bytes attributes, std::uint16_t type);
[[nodiscard]] std::optional<std::uint64_t> wide_number_in(Bytes attributes, std::uint16_t type);
[[nodiscard]] std::optional<std::uint16_t> short_number_in(Bytes attributes, std::uint16_t type);
[[nodiscard]] std::optional<std::uint8_t> byte_in(Bytes attributes, std::uint16_t type);
// Up to its first NUL; "" where there is none.
[[nodiscard]] std::string text_in(Bytes attributes, std::uint16_t type);

// The first attribute, and what follows it. Both empty: there is none, or it is cut off.
struct FirstAttribute {
    std::uint16_t type = 0;
    Bytes content;
    Bytes rest;
};
[[nodiscard]] std::optional<FirstAttribute> first_of(Bytes attributes);

// What a datagram says to the question with a sequence number.
enum class AnswerEnd : std::uint8_t {
    More,    // of a dump, or another question's answer: read on
    Found,
    Nothing,    // an error, the end of the dump, or not what netlink sends
};

// Calls `take(attributes)` for every message of a datagram that answers `sequence`, until it says something else than
// More. `failed`: where the errno of a refusal goes; it stays 0 at the end of a dump.
template <typename Take>
AnswerEnd read_datagram(Bytes rest, std::uint32_t sequence, Take take, int* failed = nullptr)
{
    while (rest.size() >= sizeof(nlmsghdr)) {
        nlmsghdr header{};
        std::memcpy(&header, rest.data(), sizeof(header));
        if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > rest.size()) {
            return AnswerEnd::Nothing;
        }
        const Bytes content = rest.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
        if (header.nlmsg_seq == sequence) {
            if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_type == NLMSG_DONE) {
                // Both begin with 0 or a negative errno.
                std::int32_t error = 0;
                if (failed != nullptr && content.size() >= sizeof(error)) {
                    std::memcpy(&error, content.data(), sizeof(error));
                    *failed = error < 0 && error > -4096 ? -error : 0;
                }
                return AnswerEnd::Nothing;
            }
            if (const auto end = take(content); end != AnswerEnd::More) {
                return end;
            }
        }
        rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), rest.size()));
    }
    return AnswerEnd::More;
}

}    // namespace rdmaqos::netlink
