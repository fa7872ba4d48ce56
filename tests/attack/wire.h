// D-Bus as an attacker speaks it: bytes made by hand, and a socket that takes any of them. No library that would refuse
// to send what is wrong, and none that waits when it should not.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/file.h"
#include "tests/support/patience.h"

namespace rdmaqos::attack {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Of somebody who is not read from.
constexpr std::chrono::seconds kGivesUp{10};

// Values in D-Bus's little-endian encoding, one after another, each at its alignment.
class Bytes {
public:
    Bytes& align(std::size_t to);
    Bytes& u8(std::uint8_t value);
    Bytes& u32(std::uint32_t value);
    Bytes& u64(std::uint64_t value);
    Bytes& text(std::string_view value);         // s, o
    Bytes& signature(std::string_view value);    // g
    // An array whose items `fill` writes; its items begin at a multiple of `item_alignment`.
    Bytes& array(std::size_t item_alignment, const std::function<void(Bytes&)>& fill);
    // An entry of a{sv}: the key, the variant's signature, and its value.
    Bytes& entry(std::string_view key, std::string_view type, const std::function<void(Bytes&)>& fill);
    Bytes& raw(std::string_view bytes);

    [[nodiscard]] const std::string& str() const { return bytes_; }

private:
    std::string bytes_;
};

// a{sv}
inline void dict(Bytes& out, const std::function<void(Bytes&)>& fill)
{
    out.array(8, fill);
}

struct Method {
    std::string path;
    std::string interface;
    std::string member;
};

struct Body {
    std::string signature;
    std::string bytes;
    std::uint32_t descriptors = 0;
};

constexpr std::uint32_t kSomeSerial = 7;
constexpr std::uint8_t kNoReply = 1;

// A whole method call. `destination`: for the system bus.
[[nodiscard]] std::string call(const Method& method, const Body& body = {}, std::uint32_t serial = kSomeSerial,
                               std::string_view destination = {}, std::uint8_t flags = 0);
// The head of a call whose body, of `promised` bytes, is still to come.
[[nodiscard]] std::string head(const Method& method, const Body& body, std::uint32_t promised);

// What a client says before its first message, in one go.
extern const std::string_view kHandshake;

// The methods that attacks and victims call most.
namespace methods {
extern const Method kPing;
extern const Method kIntrospect;
extern const Method kManagedObjects;
extern const Method kGetAll;
extern const Method kRegister;
extern const Method kQueryPath;
extern const Method kCheck;
extern const Method kPlan;
extern const Method kMetrics;
extern const Method kSubscribe;
[[nodiscard]] Method of_session(const std::string& session, const std::string& member);
}    // namespace methods

// What is read of an answer.
struct Reply {
    std::uint8_t type = 0;       // 2: return, 3: error
    std::uint32_t serial = 0;    // of the call that it answers
    std::size_t size = 0;        // of the whole message
    std::string body;
    [[nodiscard]] bool is_error() const { return type == 3; }
    // The text that the body begins with: a session's path, an error's sentence.
    [[nodiscard]] std::string text() const;
};

// The first message in `bytes`, once all of it is there; empty: more is needed. Messages that are not valid end the
// program: the daemon does not make them.
[[nodiscard]] std::optional<Reply> first_message(std::string_view bytes);

// A connection to a socket of `AF_UNIX`. Nothing throws: a lost connection is part of the day, and is_open() says so.
class Wire {
public:
    Wire() = default;
    // Waits so long when many others come at this moment.
    explicit Wire(const std::filesystem::path& socket, milliseconds patience = test::kHung);

    [[nodiscard]] bool is_open() const { return socket_.get() >= 0; }
    [[nodiscard]] int fd() const { return socket_.get(); }
    void close() { socket_.reset(); }

    // Says who we are and waits for the server's consent.
    [[nodiscard]] bool authenticate(milliseconds patience = test::kHung);
    // All of it, waiting for room; false, and closed, when the connection is lost or `patience` is over.
    bool send(std::string_view bytes, std::span<const int> descriptors = {}, milliseconds patience = kGivesUp);
    // What goes without waiting; bytes taken, 0 for none; closed when the connection is lost.
    std::size_t send_some(std::string_view bytes, std::span<const int> descriptors = {});
    // Reads and forgets what is there, at most `most` bytes.
    void discard(std::size_t most = 1U << 20U);
    // Waits for the answer to `serial`, passing over everything else.
    [[nodiscard]] std::optional<Reply> answer_to(std::uint32_t serial, milliseconds patience = test::kHung);
    // call() and answer_to() in one.
    [[nodiscard]] std::optional<Reply> ask(const Method& method, const Body& body, milliseconds patience = test::kHung);
    // The next message of those that have arrived, without waiting.
    [[nodiscard]] std::optional<Reply> next();
    // By the system bus, after authenticate(): calls go to the daemon's name from here on.
    [[nodiscard]] bool hello();

private:
    [[nodiscard]] bool wait(short events, Clock::time_point until);
    // What there is, into `input_`; false when there is nothing or nobody.
    bool receive();

    UniqueFd socket_;
    std::string input_;
    std::size_t taken_ = 0;    // of `input_`
    std::uint32_t next_serial_ = 1;
    std::string destination_;
};

}    // namespace rdmaqos::attack
