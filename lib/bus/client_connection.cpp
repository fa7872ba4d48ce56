#include "lib/bus/client_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "lib/base/log.h"

namespace rdmaqos::bus {
namespace {

// Moved from sd_bus towards a client in one go.
constexpr std::size_t kMostPumped = std::size_t{1} << 18U;

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
    auto bus = open_server_bus(UniqueFd(ends[1]));
    if (!bus) {
        return fail(std::move(bus).error());
    }
    std::shared_ptr<UniqueFd> shared(new UniqueFd(std::move(socket)),
                                     [close = around.close, account = user.account](UniqueFd* owned) {
                                         close_socket(close, account, std::move(*owned));
                                         delete owned;    // NOLINT(cppcoreguidelines-owning-memory): of the shared_ptr
                                     });
    std::shared_ptr<ClientConnection> connection(
        new ClientConnection(around, std::move(*bus), std::move(shared), std::move(inner), user, std::move(on_closed)));
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
