#include "lib/bus/connection.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <sys/epoll.h>
#include <systemd/sd-id128.h>

#include "lib/base/log.h"

namespace rdmaqos::bus {
namespace {

// What one connection may have before others get their turn.
constexpr int kBurst = 32;
constexpr auto kBusTurn = std::chrono::milliseconds(2);

}    // namespace

void Connection::send(sd_bus_message* message)
{
    if (!open_) {
        return;
    }
    // A failure means the connection is going down, which is found out where it is served.
    sd_bus_send(bus_.get(), message, nullptr);
    flush();
}

Result<BusPtr> open_server_bus(UniqueFd socket)
{
    sd_bus* raw = nullptr;
    int result = sd_bus_new(&raw);
    BusPtr bus(raw);
    sd_id128_t id{};
    if (result >= 0) {
        result = sd_id128_randomize(&id);
    }
    if (result >= 0) {
        result = sd_bus_set_fd(raw, socket.get(), socket.get());
    }
    if (result >= 0) {
        [[maybe_unused]] const int owned = socket.release();    // by the bus from here on
        result = sd_bus_set_server(raw, 1, id);
    }
    if (result >= 0) {
        result = sd_bus_set_anonymous(raw, 0);
    }
    if (result >= 0) {
        result = sd_bus_negotiate_fds(raw, 1);
    }
    if (result >= 0) {
        result = sd_bus_start(raw);
    }
    if (result < 0) {
        return fail(error_from_errno(ErrorCode::Internal, -result, "a connection cannot be set up"));
    }
    return bus;
}

BusConnection::BusConnection(EventLoop& loop, BusPtr bus, std::function<void()> on_closed)
    : Connection(std::move(bus)), loop_(loop), on_closed_(std::move(on_closed))
{
}

Result<BusPtr> BusConnection::open_system_bus(BusDescriptors descriptors)
{
    sd_bus* raw = nullptr;
    if (const int result = sd_bus_new(&raw); result < 0) {
        return fail(error_from_errno(ErrorCode::Internal, -result, "sd_bus_new"));
    }
    BusPtr bus(raw);
    const char* address = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS");
    int result = sd_bus_set_address(raw, address == nullptr ? "unix:path=/run/dbus/system_bus_socket" : address);
    if (result >= 0) {
        result = sd_bus_set_bus_client(raw, 1);
    }
    if (result >= 0) {
        result = sd_bus_negotiate_fds(raw, descriptors == BusDescriptors::Taken ? 1 : 0);
    }
    if (result >= 0) {
        result = sd_bus_start(raw);
    }
    if (result < 0) {
        return fail(error_from_errno(ErrorCode::Io, -result, "no connection"));
    }
    return bus;
}

Result<std::shared_ptr<BusConnection>> BusConnection::create(EventLoop& loop, BusPtr bus,
                                                             std::function<void()> on_closed)
{
    std::shared_ptr<BusConnection> connection(new BusConnection(loop, std::move(bus), std::move(on_closed)));
    connection->self_ = connection;
    auto* raw = connection.get();
    const int fd = sd_bus_get_fd(raw->bus());
    if (fd < 0) {
        return fail(error_from_errno(ErrorCode::Io, -fd, "the connection has no descriptor"));
    }
    raw->watched_ = UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!raw->watched_) {
        return fail(error_from_errno(ErrorCode::Io, errno, "duplicating the descriptor of a connection"));
    }
    raw->events_ = EPOLLIN;
    auto io = loop.on_io(raw->watched_.get(), raw->events_, [raw](std::uint32_t) { raw->serve(); });
    if (!io) {
        return fail(std::move(io).error());
    }
    raw->io_ = std::move(*io);
    auto alarm = loop.on_alarm([raw] {
        raw->alarm_at_ = Alarm::kNever;
        raw->serve();
    });
    if (!alarm) {
        return fail(std::move(alarm).error());
    }
    raw->alarm_ = std::move(*alarm);
    raw->update();
    return connection;
}

bool BusConnection::is_ready() const
{
    return open_ && sd_bus_is_ready(bus_.get()) > 0;
}

void BusConnection::serve()
{
    const auto alive = self_.lock();    // a handler may drop the last owner
    serving_ = true;
    int result = 1;
    const auto begin = std::chrono::steady_clock::now();
    for (int count = 0; open_ && result > 0 && count < kBurst; ++count) {
        result = sd_bus_process(bus_.get(), nullptr);
        if (std::chrono::steady_clock::now() - begin > kBusTurn) {
            break;
        }
    }
    serving_ = false;
    if (!open_) {
        return;
    }
    if (result < 0 || sd_bus_is_open(bus_.get()) <= 0) {
        lost();
        return;
    }
    update();
}

void BusConnection::update()
{
    // The bus reads, or it is broken: it drops clients of its own that do not.
    constexpr std::uint64_t kMostQueued = 65536;
    std::uint64_t queued = 0;
    if (sd_bus_get_n_queued_write(bus_.get(), &queued) >= 0 && queued > kMostQueued) {
        log(LogLevel::Warning, "the system bus does not read ({} messages wait for it): the connection is closed",
            queued);
        lost();
        return;
    }
    const int wanted = sd_bus_get_events(bus_.get());
    std::uint64_t until = Alarm::kNever;
    if (wanted < 0 || sd_bus_get_timeout(bus_.get(), &until) < 0) {
        lost();
        return;
    }
    // poll and epoll use the same bits for what sd-bus asks for.
    if (static_cast<std::uint32_t>(wanted) != events_) {
        events_ = static_cast<std::uint32_t>(wanted);
        io_->set_events(events_);
    }
    if (until != alarm_at_) {
        alarm_at_ = until;
        alarm_->set(until);
    }
}

void BusConnection::flush()
{
    if (open_ && !serving_) {
        update();
    }
}

void BusConnection::lost()
{
    if (!open_) {
        return;
    }
    close();
    loop_.post([weak = self_] {
        if (const auto connection = weak.lock(); connection && connection->on_closed_) {
            const auto on_closed = std::exchange(connection->on_closed_, nullptr);
            on_closed();
        }
    });
}

void BusConnection::close()
{
    open_ = false;
    io_.reset();
    watched_.reset();
    alarm_.reset();
    sd_bus_close(bus_.get());
}

}    // namespace rdmaqos::bus
