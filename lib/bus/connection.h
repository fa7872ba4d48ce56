// One sd_bus served by our loop.
//
// Not sd_bus_attach_event: that makes the loop look at every connection in every round, and there may be thousands.
// Here a connection costs nothing while nothing happens on it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "lib/base/file.h"
#include "lib/bus/descriptors.h"
#include "lib/bus/event.h"
#include "lib/bus/message.h"

namespace rdmaqos::bus {

class Connection {
public:
    virtual ~Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] sd_bus* bus() const { return bus_.get(); }
    [[nodiscard]] bool is_open() const { return open_; }
    // Authenticated (direct transport) and greeted (system bus).
    [[nodiscard]] virtual bool is_ready() const = 0;

    // Sends; a connection that is gone swallows it. Also for replies: they need not know whether anybody still waits.
    void send(sd_bus_message* message);
    // To be called after anything else was sent by sd-bus itself (sd_bus_emit_..., sd_bus_call_async).
    virtual void flush() = 0;
    virtual void close() = 0;

    // Those of the message that is being handled.
    [[nodiscard]] virtual const std::vector<SentDescriptor>* descriptors() const { return nullptr; }

protected:
    explicit Connection(BusPtr bus) : bus_(std::move(bus)) {}

    BusPtr bus_;
    bool open_ = true;
};

// The serving end of a D-Bus conversation over a connected socket, which it takes over.
[[nodiscard]] Result<BusPtr> open_server_bus(UniqueFd socket);

enum class BusDescriptors : bool { Refused, Taken };

// A connection to a message bus, which is trusted: sd-bus reads from it itself.
class BusConnection final : public Connection {
public:
    // `on_closed` is called once, from the loop (never from within another call), when the connection has ended by
    // itself; not after close().
    [[nodiscard]] static Result<std::shared_ptr<BusConnection>> create(EventLoop& loop, BusPtr bus,
                                                                       std::function<void()> on_closed);
    // The system bus. It passes on no descriptors unless they are wanted: a receiver also closes them, which
    // may hang.
    [[nodiscard]] static Result<BusPtr> open_system_bus(BusDescriptors descriptors = BusDescriptors::Refused);

    [[nodiscard]] bool is_ready() const override;
    void flush() override;
    void close() override;

private:
    BusConnection(EventLoop& loop, BusPtr bus, std::function<void()> on_closed);

    void serve();
    void update();
    void lost();

    EventLoop& loop_;
    std::function<void()> on_closed_;
    // A duplicate of sd-bus's descriptor for the loop to watch: sd-bus closes its own as soon as the peer is gone, and
    // another thread may have that number before the loop releases it.
    UniqueFd watched_;
    std::unique_ptr<IoSource> io_;
    std::unique_ptr<Alarm> alarm_;
    std::weak_ptr<BusConnection> self_;
    std::uint64_t alarm_at_ = Alarm::kNever;
    std::uint32_t events_ = 0;
    bool serving_ = false;
};

}    // namespace rdmaqos::bus
