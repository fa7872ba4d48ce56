#include "tests/attack/wire.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/bus/names.h"

namespace rdmaqos::attack {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kFixedHeader = 16;    // up to and with the length of the fields

enum Field : std::uint8_t {
    Path = 1,
    Interface = 2,
    Member = 3,
    ReplySerial = 5,
    Destination = 6,
    Signature = 8,
    Descriptors = 9,
};

std::size_t padded(std::size_t size, std::size_t to)
{
    return (size + to - 1) / to * to;
}

std::uint32_t number_at(std::string_view bytes, std::size_t position)
{
    std::uint32_t value = 0;
    if (position + sizeof(value) <= bytes.size()) {
        std::memcpy(&value, bytes.data() + position, sizeof(value));
    }
    return value;
}

void field(Bytes& out, Field code, std::string_view type, const std::function<void(Bytes&)>& value)
{
    out.align(8).u8(code).signature(type);
    value(out);
}

std::string header(const Method& method, const Body& body, std::uint32_t body_size, std::uint32_t serial,
                   std::string_view destination, std::uint8_t flags)
{
    Bytes out;
    out.u8('l').u8(1).u8(flags).u8(1).u32(body_size).u32(serial);
    out.array(8, [&](Bytes& fields) {
        field(fields, Path, "o", [&](Bytes& value) { value.text(method.path); });
        field(fields, Interface, "s", [&](Bytes& value) { value.text(method.interface); });
        field(fields, Member, "s", [&](Bytes& value) { value.text(method.member); });
        if (!destination.empty()) {
            field(fields, Destination, "s", [&](Bytes& value) { value.text(destination); });
        }
        if (!body.signature.empty()) {
            field(fields, Signature, "g", [&](Bytes& value) { value.signature(body.signature); });
        }
        if (body.descriptors > 0) {
            field(fields, Descriptors, "u", [&](Bytes& value) { value.u32(body.descriptors); });
        }
    });
    return out.align(8).str();
}

// The serial that a message answers, found among its fields; all we are told have o, s, g or u as their type.
std::uint32_t reply_serial(std::string_view fields)
{
    std::size_t at = 0;
    while (at + 4 < fields.size()) {
        const auto code = static_cast<std::uint8_t>(fields[at]);
        const char type = fields[at + 2];
        at += 4;
        if (type == 'u') {
            if (code == ReplySerial) {
                return number_at(fields, at);
            }
            at += 4;
        } else if (type == 'g') {
            at += static_cast<std::uint8_t>(fields[at]) + 2U;
        } else {
            at += number_at(fields, at) + 5U;
        }
        at = padded(at, 8);
    }
    return 0;
}

}    // namespace

const std::string_view kHandshake = "\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"sv;

namespace methods {
namespace names = bus::names;
const Method kPing{names::kRoot, "org.freedesktop.DBus.Peer", "Ping"};
const Method kIntrospect{names::kRoot, "org.freedesktop.DBus.Introspectable", "Introspect"};
const Method kManagedObjects{names::kRoot, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"};
const Method kGetAll{names::kRoot, "org.freedesktop.DBus.Properties", "GetAll"};
const Method kRegister{names::kRoot, names::kManager, "Register"};
const Method kQueryPath{names::kRoot, names::kManager, "QueryPath"};
const Method kCheck{names::kRoot, names::kManager, "Check"};
const Method kPlan{names::kRoot, names::kManager, "Plan"};
const Method kMetrics{names::kRoot, names::kManager, "Metrics"};
const Method kSubscribe{names::kRoot, names::kManager, "Subscribe"};

Method of_session(const std::string& session, const std::string& member)
{
    return {session, names::kSession, member};
}
}    // namespace methods

// ---- bytes ----

Bytes& Bytes::align(std::size_t to)
{
    bytes_.resize(padded(bytes_.size(), to));
    return *this;
}

Bytes& Bytes::u8(std::uint8_t value)
{
    bytes_.push_back(static_cast<char>(value));
    return *this;
}

Bytes& Bytes::u32(std::uint32_t value)
{
    align(sizeof(value));
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));    // NOLINT(*-reinterpret-cast)
    return *this;
}

Bytes& Bytes::u64(std::uint64_t value)
{
    align(sizeof(value));
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));    // NOLINT(*-reinterpret-cast)
    return *this;
}

Bytes& Bytes::text(std::string_view value)
{
    u32(static_cast<std::uint32_t>(value.size()));
    bytes_.append(value).push_back('\0');
    return *this;
}

Bytes& Bytes::signature(std::string_view value)
{
    u8(static_cast<std::uint8_t>(value.size()));
    bytes_.append(value).push_back('\0');
    return *this;
}

Bytes& Bytes::array(std::size_t item_alignment, const std::function<void(Bytes&)>& fill)
{
    u32(0);
    const std::size_t length_at = bytes_.size() - sizeof(std::uint32_t);
    align(item_alignment);
    const std::size_t begin = bytes_.size();
    fill(*this);
    const auto length = static_cast<std::uint32_t>(bytes_.size() - begin);
    std::memcpy(bytes_.data() + length_at, &length, sizeof(length));
    return *this;
}

Bytes& Bytes::entry(std::string_view key, std::string_view type, const std::function<void(Bytes&)>& fill)
{
    align(8).text(key).signature(type);
    fill(*this);
    return *this;
}

Bytes& Bytes::raw(std::string_view bytes)
{
    bytes_.append(bytes);
    return *this;
}

// ---- messages ----

std::string call(const Method& method, const Body& body, std::uint32_t serial, std::string_view destination,
                 std::uint8_t flags)
{
    return header(method, body, static_cast<std::uint32_t>(body.bytes.size()), serial, destination, flags) + body.bytes;
}

std::string head(const Method& method, const Body& body, std::uint32_t promised)
{
    return header(method, body, promised, kSomeSerial, {}, 0);
}

std::string Reply::text() const
{
    return body.size() < 5 ? std::string() : body.substr(4, number_at(body, 0));
}

std::optional<Reply> first_message(std::string_view bytes)
{
    if (bytes.size() < kFixedHeader) {
        return std::nullopt;
    }
    const std::uint32_t body_size = number_at(bytes, 4);
    const std::uint32_t fields_size = number_at(bytes, 12);
    const std::size_t body_at = padded(kFixedHeader + fields_size, 8);
    if (bytes.size() < body_at + body_size) {
        return std::nullopt;
    }
    Reply reply;
    reply.type = static_cast<std::uint8_t>(bytes[1]);
    reply.serial = reply_serial(bytes.substr(kFixedHeader, fields_size));
    reply.size = body_at + body_size;
    reply.body = bytes.substr(body_at, body_size);
    return reply;
}

// ---- the connection ----

Wire::Wire(const std::filesystem::path& path, milliseconds patience)
    : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (patience.count() == 0 ? SOCK_NONBLOCK : 0), 0))
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.native().copy(address.sun_path, sizeof(address.sun_path) - 1);
    const timeval limit{patience.count() / 1000, patience.count() % 1000 * 1000};
    setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0) {
        close();
        return;
    }
    fcntl(socket_.get(), F_SETFL, O_NONBLOCK);    // from here on nothing waits but poll()
}

bool Wire::wait(short events, Clock::time_point until)
{
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    pollfd waiting{socket_.get(), events, 0};
    return is_open() && left > 0 && poll(&waiting, 1, static_cast<int>(left)) > 0;
}

bool Wire::authenticate(milliseconds patience)
{
    const auto until = Clock::now() + patience;
    send(kHandshake, {}, patience);
    constexpr std::string_view kConsent = "AGREE_UNIX_FD\r\n";
    while (wait(POLLIN, until) && receive()) {
        if (const auto at = input_.find(kConsent); at != std::string::npos) {
            taken_ = at + kConsent.size();
            return true;
        }
    }
    close();
    return false;
}

std::size_t Wire::send_some(std::string_view bytes, std::span<const int> descriptors)
{
    constexpr std::size_t kMost = 253;    // of the kernel
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMost * sizeof(int))> control{};
    iovec data{const_cast<char*>(bytes.data()), bytes.size()};    // NOLINT(*-const-cast): iovec is for both ways
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
    }
    const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
        return static_cast<std::size_t>(sent);
    }
    // ETOOMANYREFS: the descriptors that are under way count; they arrive.
    if (errno != EAGAIN && errno != EINTR && errno != ETOOMANYREFS) {
        close();
    }
    return 0;
}

bool Wire::send(std::string_view bytes, std::span<const int> descriptors, milliseconds patience)
{
    const auto until = Clock::now() + patience;
    while (is_open() && !bytes.empty()) {
        if (const std::size_t sent = send_some(bytes, descriptors); sent > 0) {
            bytes.remove_prefix(sent);
            descriptors = {};
        } else if (!wait(POLLOUT, until)) {
            close();
        }
    }
    return is_open();
}

void Wire::discard(std::size_t most)
{
    static std::array<char, 1U << 16U> sink;
    while (is_open() && most > 0) {
        const ssize_t got = recv(socket_.get(), sink.data(), std::min(sink.size(), most), MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            close();
        }
        if (got <= 0) {
            return;
        }
        most -= static_cast<std::size_t>(got);
    }
}

bool Wire::receive()
{
    constexpr std::size_t kChunk = 1U << 16U;
    input_.erase(0, std::exchange(taken_, 0));
    const std::size_t size = input_.size();
    input_.resize(size + kChunk);
    const ssize_t got = recv(socket_.get(), input_.data() + size, kChunk, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        close();
    }
    input_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return got > 0;
}

std::optional<Reply> Wire::next()
{
    const auto rest = [this] { return std::string_view(input_).substr(taken_); };
    auto reply = first_message(rest());
    while (!reply && is_open() && receive()) {
        reply = first_message(rest());
    }
    if (reply) {
        taken_ += reply->size;
    }
    return reply;
}

std::optional<Reply> Wire::answer_to(std::uint32_t serial, milliseconds patience)
{
    const auto until = Clock::now() + patience;
    while (true) {
        auto reply = next();
        if (reply && reply->serial == serial) {
            return reply;
        }
        if (!reply && !wait(POLLIN, until)) {
            return std::nullopt;
        }
    }
}

std::optional<Reply> Wire::ask(const Method& method, const Body& body, milliseconds patience)
{
    const std::uint32_t serial = next_serial_++;
    if (!send(call(method, body, serial, destination_), {}, patience)) {
        return std::nullopt;
    }
    return answer_to(serial, patience);
}

bool Wire::hello()
{
    destination_ = "org.freedesktop.DBus";
    const bool greeted = ask({"/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello"}, {}).has_value();
    destination_ = bus::names::kService;
    return greeted;
}

}    // namespace rdmaqos::attack
