#include "lib/bus/client_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "lib/base/log.h"
#include "lib/base/try.h"
#include "lib/bus/descriptor_wire.h"
#include "lib/bus/wellformed.h"

namespace rdmaqos::bus {
namespace {

// Moved from sd_bus towards a client in one go.
constexpr std::size_t kMostPumped = std::size_t{1} << 18U;
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

void close_socket(const std::function<void(Account, UniqueFd)>& close, Account account, UniqueFd socket)
{
    shutdown(socket.get(), SHUT_RDWR);    // nothing more can arrive
    if (may_hold_descriptors(socket.get())) {
        close(account, std::move(socket));
    }
}

}    // namespace

ClientConnection::ClientConnection(ClientSurroundings& around, BusPtr bus, std::shared_ptr<UniqueFd> socket,
                                   UniqueFd inner, DescriptorHelpers::User user, std::function<void()> on_closed)
    : Connection(std::move(bus)), around_(around), socket_(std::move(socket)), inner_(std::move(inner)), user_(user),
      on_closed_(std::move(on_closed)), auth_(user.account.uid(), geteuid())
{
}

ClientConnection::~ClientConnection()
{
    close();
}

Result<std::shared_ptr<ClientConnection>> ClientConnection::create(ClientSurroundings& around, UniqueFd socket,
                                                                   DescriptorHelpers::User user,
                                                                   std::function<void()> on_closed)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
        return fail(error_from_errno(ErrorCode::Io, errno, "a connection cannot be set up"));
    }
    UniqueFd inner(ends[0]);
    auto bus = TRY(open_server_bus(UniqueFd(ends[1])));
    std::shared_ptr<UniqueFd> shared(new UniqueFd(std::move(socket)),
                                     [close = around.close, account = user.account](UniqueFd* owned) {
                                         close_socket(close, account, std::move(*owned));
                                         delete owned;    // NOLINT(cppcoreguidelines-owning-memory): of the shared_ptr
                                     });
    std::shared_ptr<ClientConnection> connection(
        new ClientConnection(around, std::move(bus), std::move(shared), std::move(inner), user, std::move(on_closed)));
    // sd_bus makes room for megabytes, which would then be moved in one go.
    const int room = kMostPumped / 2;    // doubled by the kernel
    setsockopt(sd_bus_get_fd(connection->bus()), SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    auto* raw = connection.get();
    raw->self_ = connection;
    // A byte sent with MSG_OOB is a byte like any other. Otherwise a look passes it over, and the kernel closes what
    // came with it in the middle of a read.
    const int on = 1;
    if (setsockopt(raw->socket_->get(), SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)) != 0) {
        return fail(error_from_errno(ErrorCode::Io, errno, "a connection cannot be set up"));
    }
    raw->events_ = EPOLLIN;
    auto io = around.turns.on_io(user.account, raw->socket_->get(), raw->events_,
                                 [raw](std::uint32_t events) { raw->guarded([=] { raw->ready(events); }); });
    if (!io) {
        return fail(std::move(io).error());
    }
    raw->io_ = std::move(*io);
    return connection;
}

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

// A client that sends such a message does not speak D-Bus well enough for what follows.
void ClientConnection::end_malformed(std::string_view message, std::string_view why)
{
    const auto head = parse_head(message);
    if (head && head->expects_reply) {
        queue(error_reply(head->serial, dbus_name(ErrorCode::InvalidArgument), fmt::format("the message {}", why)));
    }
    drop(fmt::format("a message {}", why));
}

// ---- sd_bus ----

void ClientConnection::feed(std::string_view bytes, std::size_t descriptors)
{
    std::vector<int> stand_ins;
    for (std::size_t index = 0; index < descriptors; ++index) {
        stand_ins.push_back(stand_in(index));
    }
    DescriptorRoom room;
    msghdr message{};
    room.put(message, stand_ins);
    while (open_ && !bytes.empty()) {
        iovec part{const_cast<char*>(bytes.data()), bytes.size()};    // NOLINT(*-const-cast): iovec has no const
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        const ssize_t sent = sendmsg(inner_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN) {
            lost();
            return;
        }
        if (sent > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
            message.msg_control = nullptr;
            message.msg_controllen = 0;
        }
        process();
    }
}

void ClientConnection::process()
{
    int result = 1;
    while (open_ && result > 0) {
        result = sd_bus_process(bus_.get(), nullptr);
    }
    if (open_ && (result < 0 || sd_bus_is_open(bus_.get()) <= 0)) {
        pump();    // what it had to say before
        lost();
        return;
    }
    if (open_) {
        pump();
    }
}

void ClientConnection::flush()
{
    guarded([this] {
        if (open_ && !serving_) {
            pump();
            if (open_) {
                update_events();
            }
        }
    });
}

void ClientConnection::pump()
{
    std::array<char, 16384> buffer;    // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
    std::size_t moved = 0;
    while (open_ && moved < kMostPumped) {
        const ssize_t length = recv(inner_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (length > 0) {
            queue(std::string_view(buffer.data(), static_cast<std::size_t>(length)));
            moved += static_cast<std::size_t>(length);
            continue;
        }
        // More may wait in sd_bus than fits in between; that it fails is found out by process().
        std::uint64_t queued = 0;
        if (sd_bus_get_n_queued_write(bus_.get(), &queued) < 0 || queued == 0 ||
            sd_bus_process(bus_.get(), nullptr) < 0) {
            return;
        }
    }
    if (open_ && !std::exchange(pump_posted_, true)) {
        around_.turns.queue(user_.account, [weak = self_] {
            if (const auto self = weak.lock(); self && self->open_) {
                self->pump_posted_ = false;
                self->flush();
            }
        });
    }
}

// ---- towards the client ----

void ClientConnection::queue(std::string_view bytes)
{
    if (out_.empty()) {
        const ssize_t sent = ::send(socket_->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        } else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            lost();
            return;
        }
    }
    if (bytes.empty()) {
        return;
    }
    out_.emplace_back(bytes);
    unread_ += bytes.size();
    Shares::User& user = around_.shares.of(user_.account);
    around_.shares.add_unread(user, bytes.size());
    const ClientLimits& limits = around_.limits;
    if (unread_ > limits.unread || (!user_.account.is_root() && (user.unread > limits.unread_of_user ||
                                                                 around_.shares.unread() > limits.unread_of_all))) {
        drop("it does not read what it asked for");
    }
}

void ClientConnection::write_out()
{
    while (open_ && !out_.empty()) {
        const std::string& first = out_.front();
        const ssize_t sent = ::send(socket_->get(), first.data() + out_begin_, first.size() - out_begin_,
                                    MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                lost();
            }
            return;
        }
        const auto size = static_cast<std::size_t>(sent);
        out_begin_ += size;
        unread_ -= size;
        around_.shares.remove_unread(around_.shares.of(user_.account), size);
        if (out_begin_ == first.size()) {
            out_.pop_front();
            out_begin_ = 0;
        }
    }
}

// ---- the end ----

void ClientConnection::end(ClientSurroundings& around, Account account, UniqueFd socket)
{
    close_socket(around.close, account, std::move(socket));
}

void ClientConnection::failed(const std::exception& error)
{
    serving_ = false;
    write_log(LogLevel::Error, {{"ERROR", error.what()}}, "a connection is closed: serving it failed");
    lost();
}

void ClientConnection::drop(std::string_view why)
{
    if (open_) {
        log_event(LogLevel::Info, LogEvent::None, LogOrigin::user(user_.account.uid()),
                  {{"UID", fmt::format("{}", user_.account.uid())}}, "a connection of user {} is closed: {}",
                  user_.account.uid(), why);
        lost();
    }
}

void ClientConnection::lost()
{
    if (!open_) {
        return;
    }
    close();
    around_.turns.queue(user_.account, [weak = self_] {
        if (const auto connection = weak.lock(); connection && connection->on_closed_) {
            const auto on_closed = std::exchange(connection->on_closed_, nullptr);
            on_closed();
        }
    });
}

void ClientConnection::close()
{
    if (!std::exchange(open_, false)) {
        return;
    }
    io_.reset();
    sd_bus_close(bus_.get());
    inner_.reset();
    shutdown(socket_->get(), SHUT_RDWR);    // the helper may still have it
    socket_.reset();
    forget_partial();
    arrived_.clear();
    around_.shares.remove_unread(around_.shares.of(user_.account), std::exchange(unread_, 0));
    out_.clear();
}

}    // namespace rdmaqos::bus
