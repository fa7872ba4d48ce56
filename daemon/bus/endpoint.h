// One connection with our objects on it: the system bus, or one client of the direct socket.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>

#include "daemon/bus/call.h"
#include "daemon/bus/convert_in.h"
#include "daemon/bus/convert_out.h"
#include "daemon/bus/slices.h"
#include "daemon/service/service.h"
#include "lib/base/log.h"
#include "lib/bus/event.h"
#include "lib/bus/turns.h"

namespace rdmaqos {

// A client: who it is was found out once, when it came.
struct Peer {
    PeerId id{};
    std::shared_ptr<const Identity> identity;
};

// What all endpoints share. Thread: the main loop.
class BusEndpoint;
class Polkit;

class BusContext {
public:
    BusContext(Service& served, bus::EventLoop& main_loop);
    ~BusContext();
    BusContext(const BusContext&) = delete;
    BusContext& operator=(const BusContext&) = delete;

    // The object a getter asks about. The getters of one question (a message, or a signal that is written) ask for the
    // same object one after another; the last answer is kept for them.
    // Without its queue pairs, of which there may be thousands.
    [[nodiscard]] const SessionInfo* session(SessionId id);
    [[nodiscard]] const DeviceStatus* device(const std::string& key);
    [[nodiscard]] const std::map<std::string, LevelUse>& level_uses();
    [[nodiscard]] const SessionCounts& session_counts();
    // Somebody asks (`asking`, for as long as the getters run), or changes are published: what was kept for the last
    // question is forgotten.
    void new_question(const Peer* asking = nullptr);
    // Who sees what a getter writes: null for everybody, as in a signal, or for one who is not known yet.
    [[nodiscard]] const Peer* asking() const { return asking_ ? &*asking_ : nullptr; }

    // `account`: of the caller, whose files are closed on its own account.
    [[nodiscard]] Names names(const std::shared_ptr<const Policy>& policy, Account account);
    // Closes what clients sent, on threads; until it is closed, it counts among the descriptors of its user.
    [[nodiscard]] std::function<void(Account, UniqueFd)> close_counted();
    [[nodiscard]] PeerId next_peer() { return PeerId{++last_peer_}; }

    Service& service;
    bus::EventLoop& loop;
    TransportCounters& counters;
    bus::Turns turns;    // of the users of all transports
    LongAnswers long_answers;
    const std::unique_ptr<Polkit> polkit;
    std::shared_ptr<const std::string> metrics_text;    // while those are answered who have asked for it
    // What there is, so that asking for a path costs no copy.
    std::unordered_set<std::uint64_t> session_ids;
    std::unordered_set<std::string> device_keys;
    // Who wants signals, and how many of a user.
    std::set<BusEndpoint*> subscribers;
    std::map<Account, std::size_t> subscribers_of;

private:
    // What takes a walk through all queue pairs, and is kept for a while.
    template <typename T>
    struct Counted {
        T value;
        TimePoint until{};
    };

    std::uint64_t last_peer_ = 0;
    std::optional<Peer> asking_;
    std::optional<SessionInfo> session_;
    std::string device_key_;
    std::optional<DeviceStatus> device_;
    Counted<std::map<std::string, LevelUse>> level_uses_;
    Counted<SessionCounts> session_counts_;
};

class BusEndpoint {
public:
    using Known = std::function<void(Result<const Peer*>)>;

    BusEndpoint(BusContext& shared, std::shared_ptr<bus::Connection> connected)
        : context(shared), connection(std::move(connected))
    {
    }
    virtual ~BusEndpoint() { unsubscribe(); }
    BusEndpoint(const BusEndpoint&) = delete;
    BusEndpoint& operator=(const BusEndpoint&) = delete;

    // The sender of a message, if it is known already.
    [[nodiscard]] virtual const Peer* known(sd_bus_message* message) = 0;
    // Finds out who sent a message; calls of one sender keep their order. The peer is valid during the callback.
    virtual void find_out(sd_bus_message* message, Known done) = 0;
    [[nodiscard]] virtual bool is_system_bus() const = 0;

    // To signals, or no longer. LimitReached: this user has many connections that listen.
    [[nodiscard]] Result<void> subscribe(Account account);
    void unsubscribe();

    // Whether the sender of a call may have it served now; counts it against what the user may ask.
    [[nodiscard]] virtual Result<void> admit(sd_bus_message* message) = 0;
    // The call costs as much as this many more.
    void charge(sd_bus_message* message, std::size_t calls);

    BusContext& context;
    std::shared_ptr<bus::Connection> connection;

private:
    std::optional<Account> subscribed_;    // on whose account
};

// Looks at every call before sd-bus does anything for it: properties, introspection and Ping cost what they cost too.
[[nodiscard]] Result<void> install_admission(BusEndpoint& endpoint);

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
        return sd_bus_error_set(error, "org.freedesktop.DBus.Error.Failed",
                                "the call failed; see the journal of rdma-qosd");
    }
}

// The same for what reads a property: `write(BusContext&, path, bus::Writer&)`.
template <auto write>
int get_property(sd_bus* /*bus*/, const char* path, const char* /*interface*/, const char* name, sd_bus_message* reply,
                 void* userdata, sd_bus_error* error) noexcept
{
    try {
        bus::Writer writer(reply);
        write(static_cast<BusEndpoint*>(userdata)->context, path, writer);
        return writer.result();
    } catch (const std::exception& problem) {
        write_log(LogLevel::Error, {{"PROPERTY", name}}, problem.what());
        return sd_bus_error_set(error, "org.freedesktop.DBus.Error.Failed",
                                "the property cannot be read; see the journal of rdma-qosd");
    }
}

}    // namespace rdmaqos
