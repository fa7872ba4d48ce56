// One connection with our objects on it: the system bus, or one client of the direct door.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>

#include "daemon/authorize.h"
#include "daemon/bus_call.h"
#include "daemon/bus_convert.h"
#include "daemon/policy_file.h"
#include "daemon/service.h"
#include "lib/base/log.h"
#include "lib/bus/event.h"

namespace rdmaqos {

// A client: who it is was found out once, when it came.
struct Peer {
    PeerId id{};
    std::shared_ptr<const Identity> identity;
};

// What all endpoints share. Thread: the main loop.
class BusEndpoint;

class BusContext {
public:
    BusContext(Service& served, bus::EventLoop& main_loop)
        : service(served), loop(main_loop), policy_files(main_loop), counters(served.door_counters())
    {
    }
    BusContext(const BusContext&) = delete;
    BusContext& operator=(const BusContext&) = delete;

    // The object a getter asks about. The getters of one message ask for the same object one after another; the last
    // answer is kept for them.
    [[nodiscard]] const SessionInfo* session(sd_bus* bus, SessionId id);
    [[nodiscard]] const DeviceStatus* device(sd_bus* bus, const std::string& key);
    void forget_last();

    [[nodiscard]] Names names(const std::shared_ptr<const Policy>& policy) const;
    [[nodiscard]] PeerId next_peer() { return PeerId{++last_peer_}; }

    Service& service;
    bus::EventLoop& loop;
    PolicyFiles policy_files;
    DoorCounters& counters;
    // Properties of the manager may differ although nothing was observed: a reload was refused.
    std::function<void()> manager_changed;
    // What there is, so that asking for a path costs no copy.
    std::unordered_set<std::uint64_t> session_ids;
    std::unordered_set<std::string> device_keys;
    // Who wants signals.
    std::set<BusEndpoint*> subscribers;

private:
    struct Question {
        sd_bus* bus = nullptr;
        std::uint64_t cookie = 0;

        friend bool operator==(const Question&, const Question&) = default;
    };
    static std::optional<Question> current(sd_bus* bus);

    std::uint64_t last_peer_ = 0;
    std::optional<Question> session_for_;
    std::optional<SessionInfo> session_;
    std::optional<Question> device_for_;
    std::string device_key_;
    std::optional<DeviceStatus> device_;
};

class BusEndpoint {
public:
    using Known = std::function<void(Result<const Peer*>)>;

    BusEndpoint(BusContext& shared, std::shared_ptr<bus::Connection> connected)
        : context(shared), connection(std::move(connected))
    {
    }
    virtual ~BusEndpoint() { subscribe(false); }
    BusEndpoint(const BusEndpoint&) = delete;
    BusEndpoint& operator=(const BusEndpoint&) = delete;

    // The sender of a message, if it is known already.
    [[nodiscard]] virtual const Peer* known(sd_bus_message* message) = 0;
    // Finds out who sent a message; calls of one sender keep their order. The peer is valid during the callback.
    virtual void find_out(sd_bus_message* message, Known done) = 0;
    [[nodiscard]] virtual bool is_system_bus() const = 0;

    // To signals, or no longer.
    void subscribe(bool wanted)
    {
        if (wanted) {
            context.subscribers.insert(this);
        } else {
            context.subscribers.erase(this);
        }
    }

    BusContext& context;
    std::shared_ptr<bus::Connection> connection;
};

using Handler = void (*)(BusEndpoint& endpoint, const Call& call, const Peer& peer);

// Runs a handler for a call once it is known who calls and that they may.
void serve(BusEndpoint& endpoint, sd_bus_message* message, Handler handler);

// An error that is sent without a Call.
void count_refusal(BusEndpoint& endpoint, ErrorCode code) noexcept;

// The C side of a handler: nothing is thrown through sd-bus.
template <Handler handler>
int method(sd_bus_message* message, void* userdata, sd_bus_error* error) noexcept
{
    try {
        serve(*static_cast<BusEndpoint*>(userdata), message, handler);
        return 1;
    } catch (const std::exception& problem) {
        write_log(LogLevel::Error, {{"MEMBER", sd_bus_message_get_member(message)}}, problem.what());
        count_refusal(*static_cast<BusEndpoint*>(userdata), ErrorCode::Internal);
        return sd_bus_error_set(error, "org.rdmaqos1.Error.Internal", "the call failed; see the journal of rdma-qosd");
    }
}

// The same for what reads a property: `write(BusEndpoint&, sd_bus*, path, bus::Writer&)`.
template <auto write>
int property(sd_bus* bus, const char* path, const char* /*interface*/, const char* name, sd_bus_message* reply,
             void* userdata, sd_bus_error* error) noexcept
{
    try {
        bus::Writer writer(reply);
        write(*static_cast<BusEndpoint*>(userdata), bus, path, writer);
        return writer.result();
    } catch (const std::exception& problem) {
        write_log(LogLevel::Error, {{"PROPERTY", name}}, problem.what());
        return sd_bus_error_set(error, "org.rdmaqos1.Error.Internal",
                                "the property cannot be read; see the journal of rdma-qosd");
    }
}

}    // namespace rdmaqos
