// The half of ClientConnection that reads.
#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "lib/base/descriptor_message.h"
#include "lib/base/log.h"
#include "lib/bus/client_connection.h"
#include "lib/bus/descriptor_wire.h"
#include "lib/bus/wellformed.h"

namespace rdmaqos::bus {
namespace {

// What one connection may have before others get their turn.
constexpr auto kDirectTurn = std::chrono::microseconds(500);
// Where messages are short, several are read together.
constexpr std::size_t kShort = 4096;

// Of the loop's thread: what is there is used before the next look.
std::array<char, kMostChunk>& scratch()
{
    static thread_local std::array<char, kMostChunk> buffer;
    return buffer;
}

TimePoint now()
{
    return std::chrono::steady_clock::now();
}

}    // namespace

// ---- when to read ----

void ClientConnection::ready(std::uint32_t events)
{
    if ((events & EPOLLOUT) != 0) {
        write_out();
    }
    if (!open_) {
        return;
    }
    if (helper_asked_ || !out_.empty()) {
        if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
            lost();    // nobody is left to answer
        } else {
            update_events();
        }
    } else {
        serve();
    }
}

void ClientConnection::serve()
{
    serving_ = true;
    const auto until = now() + kDirectTurn;
    Read result = Read::Some;
    while (open_ && result == Read::Some && !helper_asked_ && out_.empty() && now() < until) {
        result = read_some(until);
    }
    serving_ = false;
    if (open_ && result == Read::Ended) {
        lost();
    } else if (open_) {
        update_events();
    }
}

void ClientConnection::update_events()
{
    const std::uint32_t wanted = !out_.empty() ? EPOLLOUT : helper_asked_ ? 0U : EPOLLIN;
    if (wanted != events_) {
        events_ = wanted;
        io_->set_events(events_);
    }
    // The socket does not show that there is more to do.
    if (wanted == EPOLLIN && !received_.empty() && !std::exchange(serve_posted_, true)) {
        around_.turns.queue(user_.account, [weak = self_] {
            if (const auto self = weak.lock(); self && self->open_) {
                self->serve_posted_ = false;
                self->guarded([&] { self->ready(0); });
            }
        });
    }
}

// ---- what to read ----

// What is seen here decides only who reads, and how much at most. Everything else is decided by what was read.
ClientConnection::Look ClientConnection::look(std::size_t most) const
{
    auto& buffer = scratch();
    const auto room = std::span(buffer).first(std::min(most, buffer.size()));
    const auto [length, descriptors] = expected_ ? peek_with_sender(socket_->get(), room) : peek(socket_->get(), room);
    Look seen;
    seen.ended = length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR);
    seen.bytes = std::string_view(buffer.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    seen.descriptors = descriptors;
    return seen;
}

std::size_t ClientConnection::wanted() const
{
    if (skip_ > 0) {
        return std::min(skip_, kMostChunk);
    }
    if (head_) {
        return std::min(head_->size() - partial_.size(), kMostChunk);
    }
    return partial_.empty() ? kShort : kHeadSize - partial_.size();
}

// Descriptors belong to the message whose bytes they came with: nothing beyond its end may be read with them.
std::size_t ClientConnection::end_of_first(std::string_view seen) const
{
    if (!auth_.done()) {
        return auth_.part_of(seen);
    }
    if (skip_ == 0 && !head_ && partial_.empty()) {
        const auto head = parse_head(seen);
        return head ? std::min(head->size(), kMostChunk) : kHeadSize;
    }
    return wanted();
}

ClientConnection::Read ClientConnection::read_some(TimePoint until)
{
    if (received_.empty()) {
        const Look seen = look(wanted());
        if (seen.ended) {
            return Read::Ended;
        }
        if (seen.bytes.empty()) {
            return Read::Nothing;
        }
        std::size_t size = seen.bytes.size();
        if (seen.descriptors) {
            const std::size_t end = end_of_first(seen.bytes);
            const Look before = end < size ? look(end) : seen;
            if (before.descriptors || before.bytes.empty()) {
                return ask_helper(end);
            }
            size = before.bytes.size();
        }
        if (const Read result = read_plain(size); result != Read::Some) {
            return result;
        }
    }
    take_received(until);
    return Read::Some;
}

// There should be no descriptors with these bytes. Should some come all the same, they are not closed here.
ClientConnection::Read ClientConnection::read_plain(std::size_t size)
{
    auto& buffer = scratch();
    Received received = receive(socket_->get(), std::span(buffer).first(size));
    if (received.length < 0) {
        return errno == EAGAIN || errno == EINTR ? Read::Nothing : Read::Ended;
    }
    if (!received.descriptors.empty() || received.incomplete) {
        for (auto& fd : received.descriptors) {
            around_.close(user_.account, std::move(fd));
        }
        drop("descriptors came with bytes that had none");
        return Read::Nothing;
    }
    if (received.length == 0) {
        return Read::Ended;
    }
    received_.assign(buffer.data(), static_cast<std::size_t>(received.length));
    sender_ = received.sender;
    return Read::Some;
}

ClientConnection::Read ClientConnection::ask_helper(std::size_t most)
{
    helper_asked_ = true;
    if (!unfinished_since_) {
        unfinished_since_ = now();
    }
    around_.helpers.receive(user_, socket_, most, [weak = self_](Result<Chunk> chunk) {
        if (const auto self = weak.lock(); self && self->open_) {
            self->guarded([&] { self->helped(std::move(chunk)); });
        }
    });
    return Read::Nothing;
}

void ClientConnection::helped(Result<Chunk> chunk)
{
    helper_asked_ = false;
    if (!chunk) {
        drop(to_string(chunk.error()));
        return;
    }
    if (chunk->bytes.empty()) {
        lost();
        return;
    }
    if (!auth_.done() && !chunk->descriptors.empty()) {
        drop("it sent descriptors before its first message");
        return;
    }
    if (!auth_.done()) {
        unfinished_since_.reset();    // no message has begun
    }
    if (arrived_.size() + chunk->descriptors.size() > kMostDescriptors) {
        drop("it sent more than 253 descriptors with a message");
        return;
    }
    if (skip_ == 0) {
        std::ranges::move(chunk->descriptors, std::back_inserter(arrived_));
    }
    received_ = std::move(chunk->bytes);
    sender_ = chunk->sender;
    serving_ = true;
    take_received(TimePoint::max());
    serving_ = false;
    if (open_) {
        update_events();
    }
}

// ---- what was read ----

void ClientConnection::take_received(TimePoint until)
{
    // Handlers may read other sockets, or end this connection.
    const std::string bytes = std::exchange(received_, {});
    std::string_view rest = bytes;
    do {
        if (is_unproven()) {
            check_sender();
        }
        const std::size_t before = rest.size();
        take(rest);
        taken_ += before - rest.size();
    } while (open_ && !rest.empty() && out_.empty() && now() < until);
    received_ = rest;
}

void ClientConnection::check_sender()
{
    const int off = 0;
    setsockopt(socket_->get(), SOL_SOCKET, SO_PASSCRED, &off, sizeof(off));
    refusal_ = std::exchange(expected_, std::nullopt)->why_not(taken_, sender_);
    if (!refusal_.empty()) {
        log_event(LogLevel::Info, LogEvent::None, LogOrigin::user(user_.account.uid()),
                  {{"UID", fmt::format("{}", user_.account.uid())}}, "a connection of user {} is not served: {}",
                  user_.account.uid(), refusal_);
    }
}

void ClientConnection::take(std::string_view& bytes)
{
    if (!auth_.done()) {
        take_auth(bytes);
        return;
    }
    if (skip_ > 0) {
        const std::size_t size = std::min(skip_, bytes.size());
        bytes.remove_prefix(size);
        skip_ -= size;
        if (skip_ == 0) {
            unfinished_since_.reset();
        }
        return;
    }
    if (!know_head(bytes)) {
        return;
    }
    const std::size_t missing = head_->size() - partial_.size();
    if (!partial_.empty() || bytes.size() < missing) {
        add_partial(bytes, std::min(missing, bytes.size()));
        if (open_ && partial_.size() == head_->size()) {
            const std::string message = std::exchange(partial_, {});
            around_.shares.remove_unfinished(around_.shares.of(user_.account), message.size());
            forget_partial();
            deliver(message);
        }
        return;
    }
    const auto message = bytes.substr(0, missing);
    bytes.remove_prefix(missing);
    forget_partial();
    deliver(message);
}

void ClientConnection::take_auth(std::string_view& bytes)
{
    const auto pass_on = auth_.take(bytes);
    if (!pass_on) {
        drop(pass_on.error().message);
        return;
    }
    feed(*pass_on, 0);
}

bool ClientConnection::know_head(std::string_view& bytes)
{
    if (head_) {
        return true;
    }
    if (partial_.empty() && bytes.size() >= kHeadSize) {
        head_ = parse_head(bytes);
    } else {
        add_partial(bytes, std::min(kHeadSize - partial_.size(), bytes.size()));
        if (!open_ || partial_.size() < kHeadSize) {
            return false;
        }
        head_ = parse_head(partial_);
    }
    if (!head_) {
        drop("it does not speak D-Bus");
        return false;
    }
    return accept_head();
}

bool ClientConnection::accept_head()
{
    const ClientLimits& limits = around_.limits;
    const MessageHead head = *head_;
    std::string why;
    if (!refusal_.empty()) {
        answer_instead(ErrorCode::Io, refusal_);
        return false;
    }
    if (head.fields > limits.header) {
        why = fmt::format("the header of a message to rdma-qosd has at most {} bytes, this one {}", limits.header,
                          head.fields);
    } else if (head.size() > limits.message) {
        why = fmt::format(
            "a message to rdma-qosd has at most {} bytes, this one {}; attach queue pairs in several calls",
            limits.message, head.size());
    } else {
        return true;
    }
    answer_instead(ErrorCode::LimitReached, why);
    return false;
}

void ClientConnection::answer_instead(ErrorCode code, std::string_view why)
{
    const MessageHead head = *head_;
    if (head.size() > around_.limits.skipped) {
        drop("a message is far too large");
        return;
    }
    skip_ = head.size() - partial_.size();
    forget_partial();
    arrived_.clear();
    unfinished_since_ = now();
    if (head.expects_reply) {
        queue(error_reply(head.serial, dbus_name(code), why));
        write_out();
    }
}

void ClientConnection::add_partial(std::string_view& bytes, std::size_t size)
{
    constexpr std::size_t kAlways = 4096;    // a short message finds room even when others take all
    partial_.append(bytes.substr(0, size));
    bytes.remove_prefix(size);
    if (!unfinished_since_) {
        unfinished_since_ = now();
    }
    Shares::User& user = around_.shares.of(user_.account);
    around_.shares.add_unfinished(user, size);
    const ClientLimits& limits = around_.limits;
    if (!user_.account.is_root() &&
        (user.unfinished > limits.unfinished_of_user ||
         (around_.shares.unfinished() > limits.unfinished_of_all && partial_.size() > kAlways))) {
        drop("messages of this user that have not arrived whole take too much memory");
    }
}

// Ready for the next message.
void ClientConnection::forget_partial()
{
    around_.shares.remove_unfinished(around_.shares.of(user_.account), partial_.size());
    std::string().swap(partial_);
    head_.reset();
    unfinished_since_.reset();
}

void ClientConnection::deliver(std::string_view message)
{
    current_ = std::exchange(arrived_, {});
    if (const std::string why = why_malformed(message, current_.size()); !why.empty()) {
        end_malformed(message, why);
    } else {
        feed(message, current_.size());
    }
    current_.clear();
}

// Whoever sends such a message does not speak D-Bus well enough for what follows.
void ClientConnection::end_malformed(std::string_view message, std::string_view why)
{
    const auto head = parse_head(message);
    if (head && head->expects_reply) {
        queue(error_reply(head->serial, dbus_name(ErrorCode::InvalidArgument), fmt::format("the message {}", why)));
    }
    drop(fmt::format("a message {}", why));
}

}    // namespace rdmaqos::bus
