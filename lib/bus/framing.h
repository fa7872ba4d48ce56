// The D-Bus wire protocol as far as a transport must understand it before sd-bus sees a byte: where a message ends, how
// large it is, and whom a client claims to be. Pure functions over bytes; D-Bus specification, "Message Protocol" and
// "Authentication Protocol".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace rdmaqos::bus {

// Bytes of a message up to the lengths that tell its size.
constexpr std::size_t kHeadSize = 16;

struct MessageHead {
    std::size_t fields = 0;    // bytes of the header fields, with their padding
    std::size_t body = 0;
    std::uint32_t serial = 0;
    bool is_call = false;
    bool expects_reply = false;

    [[nodiscard]] std::size_t size() const { return kHeadSize + fields + body; }
};

// From the first kHeadSize bytes (or more) of a message. Empty: this is no D-Bus message.
[[nodiscard]] std::optional<MessageHead> parse_head(std::string_view bytes);

// An error in answer to the call with this serial, as bytes ready to be sent.
[[nodiscard]] std::string error_reply(std::uint32_t serial, std::string_view name, std::string_view text);

// What a client says before its first message: a NUL and lines of text. Passes on what sd-bus shall read.
class AuthDialogue {
public:
    // `uid`: who the client is, as the kernel says; another claim is an error. `own_uid`: what sd-bus, which looks at
    // a socket pair of this process, is to be given instead.
    AuthDialogue(std::uint32_t uid, std::uint32_t own_uid) : uid_(uid), own_uid_(own_uid) {}

    // Takes bytes from the front of `input`, up to and including the line BEGIN; returns what to pass on. Errors:
    // InvalidArgument, and the client is to be dropped.
    [[nodiscard]] Result<std::string> take(std::string_view& input);
    [[nodiscard]] bool done() const { return done_; }
    // How many of the bytes that come next it would take.
    [[nodiscard]] std::size_t part_of(std::string_view bytes) const;

private:
    [[nodiscard]] Result<std::string> translate(std::string_view line) const;
    [[nodiscard]] bool claims_itself(std::string_view hex) const;

    std::uint32_t uid_;
    std::uint32_t own_uid_;
    std::string line_;         // begun, not ended
    std::size_t taken_ = 0;    // bytes in all
    bool greeted_ = false;     // the NUL has come
    bool done_ = false;
};

}    // namespace rdmaqos::bus
