// One sd_bus served by our loop.
//
// Not sd_bus_attach_event: that makes the loop look at every connection in every round, and there may be thousands.
// Here a connection costs nothing while nothing happens on it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "lib/base/file.h"
#include "lib/bus/event.h"
#include "lib/bus/message.h"

namespace rdmaqos::bus {

class Connection {
public:
    // `on_closed` is called once, from the loop (never from within another call), when the connection has ended by
    // itself; not after close().
    [[nodiscard]] static Result<std::shared_ptr<Connection>> create(EventLoop& loop, BusPtr bus,
                                                                    std::function<void()> on_closed);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] sd_bus* bus() const { return bus_.get(); }
    [[nodiscard]] bool is_open() const { return open_; }
    // Authenticated (direct door) and greeted (system bus).
    [[nodiscard]] bool is_ready() const;

    // Sends; a connection that is gone swallows it. Also for replies: they need not know whether anybody still waits.
    void send(sd_bus_message* message);
    // To be called after anything else was sent by sd-bus itself (sd_bus_emit_..., sd_bus_call_async).
    void flush();

    // A peer that lets this many messages pile up is dropped.
    void set_queue_limit(std::size_t messages) { queue_limit_ = messages; }
    void close();

private:
    Connection(EventLoop& loop, BusPtr bus, std::function<void()> on_closed);

    void serve();
    void update();
    void lost();

    EventLoop& loop_;
    BusPtr bus_;
    std::function<void()> on_closed_;
    // A duplicate of sd-bus's descriptor for the loop to watch: sd-bus closes its own as soon as the peer is gone, and
    // another thread may have that number before the loop lets go of it.
    UniqueFd watched_;
    std::unique_ptr<IoSource> io_;
    std::unique_ptr<Alarm> alarm_;
    std::weak_ptr<Connection> self_;
    std::size_t queue_limit_ = 4096;
    std::uint64_t alarm_at_ = Alarm::kNever;
    std::uint32_t events_ = 0;
    bool open_ = true;
    bool serving_ = false;
};

}    // namespace rdmaqos::bus
