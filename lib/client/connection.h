// One connection to rdma-qosd, over either transport.
//
// Not thread-safe; may be used by one thread after the other.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <systemd/sd-bus.h>

#include "lib/client/answer.h"
#include "lib/client/deadline.h"
#include "lib/client/failure.h"
#include "lib/client/own_file.h"
#include "lib/client/rdmaqos.h"

namespace rdmaqos::client {

inline constexpr const char* kRootPath = "/org/rdmaqos1";
inline constexpr const char* kManagerInterface = "org.rdmaqos1.Manager";
inline constexpr const char* kSessionInterface = "org.rdmaqos1.Session";

struct MessageUnref {
    void operator()(sd_bus_message* message) const noexcept { sd_bus_message_unref(message); }
};
using Message = std::unique_ptr<sd_bus_message, MessageUnref>;

class Connection {
public:
    // Where a session's grant is published: its path and the new grant.
    using OnGrant = std::function<void(const std::string& session, const AnswerRef& grant)>;
    using Made = std::unique_ptr<Connection>;

    // Each answers when the daemon has answered, or fails by then.
    [[nodiscard]] static Failure open_direct(const std::string& socket, Deadline deadline, Made& made);
    // Starts no daemon.
    [[nodiscard]] static Failure open_system_bus(Deadline deadline, Made& made);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void on_grant(OnGrant handler) { on_grant_ = std::move(handler); }
    [[nodiscard]] rdmaqos_transport transport() const { return transport_; }
    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] const FileIdentity& identity() const { return identity_; }
    // False: the daemon has gone, and nothing can be asked any more.
    [[nodiscard]] bool is_there() const { return is_there_; }

    [[nodiscard]] Message new_call(const std::string& path, const char* interface, const char* method) const;
    // Sends and waits for the answer.
    [[nodiscard]] Failure call(const Message& message, Deadline deadline, Message& answer);
    struct Reply {
        Failure failure;
        Message message;    // null: none came
    };
    // Many calls on their way at a time; as many replies as messages.
    [[nodiscard]] std::vector<Reply> call_all(std::span<const Message> messages, Deadline deadline);
    // Sends, and does not want an answer.
    void tell(const Message& message);

    // Handles what has arrived, without waiting. on_grant() is called from here alone.
    void process();
    // What to wait for: POLLIN, POLLOUT.
    [[nodiscard]] short wanted_events() const;

private:
    struct BusUnref {
        void operator()(sd_bus* bus) const noexcept { sd_bus_close_unref(bus); }
    };
    using Bus = std::unique_ptr<sd_bus, BusUnref>;

    Connection(Bus bus, rdmaqos_transport transport, int fd);
    [[nodiscard]] Failure begin(Deadline deadline);
    [[nodiscard]] Failure watch();
    [[nodiscard]] bool wait(Deadline deadline);
    // sd_bus_process(), unless the program has closed our socket: then its number may be that of a file of the
    // program's.
    [[nodiscard]] int step();
    [[nodiscard]] bool has_socket();
    static int on_message(sd_bus_message* message, void* data, sd_bus_error* error) noexcept;
    static int on_owner(sd_bus_message* message, void* data, sd_bus_error* error) noexcept;

    Bus bus_;
    const rdmaqos_transport transport_;
    const int fd_;
    const FileIdentity identity_;
    bool is_there_ = true;
    OnGrant on_grant_;
};

}    // namespace rdmaqos::client
