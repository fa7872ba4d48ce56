#include "lib/bus/senders.h"

#include <cerrno>
#include <exception>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "lib/base/log.h"

namespace rdmaqos::bus {
namespace {

constexpr const char* kBus = "org.freedesktop.DBus";
constexpr const char* kBusPath = "/org/freedesktop/DBus";
constexpr const char* kVanished = "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
                                  "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg2=''";

int read_groups(sd_bus_message* reply, PeerProcess& peer)
{
    int result = sd_bus_message_enter_container(reply, 'v', "au");
    if (result <= 0) {
        return result;
    }
    const void* data = nullptr;
    std::size_t size = 0;
    result = sd_bus_message_read_array(reply, 'u', &data, &size);
    if (result < 0) {
        return result;
    }
    const auto* groups = static_cast<const std::uint32_t*>(data);
    peer.gids.assign(groups, groups + size / sizeof(std::uint32_t));
    return sd_bus_message_exit_container(reply);
}

int read_pidfd(sd_bus_message* reply, PeerProcess& peer)
{
    int fd = -1;
    const int result = sd_bus_message_read(reply, "v", "h", &fd);
    if (result > 0) {
        peer.pidfd = UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 3));
    }
    return result;
}

// One entry of the a{sv}; keys that say nothing to us are skipped.
int read_entry(sd_bus_message* reply, PeerProcess& peer, bool& has_uid)
{
    const char* key = nullptr;
    if (const int result = sd_bus_message_read_basic(reply, 's', &key); result <= 0) {
        return result;
    }
    const std::string_view name = key;
    std::uint32_t number = 0;
    if (name == "UnixUserID") {
        const int result = sd_bus_message_read(reply, "v", "u", &number);
        has_uid = result > 0;
        peer.uid = number;
        return result;
    }
    if (name == "ProcessID") {
        const int result = sd_bus_message_read(reply, "v", "u", &number);
        peer.pid = static_cast<pid_t>(number);
        return result;
    }
    if (name == "UnixGroupIDs") {
        return read_groups(reply, peer);
    }
    if (name == "ProcessFD") {
        return read_pidfd(reply, peer);
    }
    return sd_bus_message_skip(reply, "v");
}

}    // namespace

struct Senders::LookUp {
    Senders* senders = nullptr;
    Found found;
    SlotPtr slot;
};

Result<PeerProcess> read_credentials(sd_bus_message* reply)
{
    PeerProcess peer;
    bool has_uid = false;
    int result = sd_bus_message_enter_container(reply, 'a', "{sv}");
    while (result > 0 && (result = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
        result = read_entry(reply, peer, has_uid);
        if (result >= 0) {
            result = sd_bus_message_exit_container(reply);
        }
    }
    if (result < 0) {
        return fail(error_from_errno(ErrorCode::Io, -result, "the bus does not say who a client is"));
    }
    if (!has_uid || peer.pid <= 0) {
        return fail(ErrorCode::Io, "the bus does not say who a client is: it gave no user or no process");
    }
    if (!peer.pidfd) {
        auto pidfd = open_pidfd(peer.pid);
        if (!pidfd) {
            return fail(std::move(pidfd).error());
        }
        peer.pidfd = std::move(*pidfd);
    }
    return peer;
}

Senders::Senders(Connection& connection, Vanished vanished) : connection_(connection), vanished_(std::move(vanished)) {}
Senders::~Senders() = default;

Result<std::unique_ptr<Senders>> Senders::create(Connection& connection, Vanished vanished)
{
    std::unique_ptr<Senders> senders(new Senders(connection, std::move(vanished)));
    sd_bus_slot* slot = nullptr;
    const int result = sd_bus_add_match_async(connection.bus(), &slot, kVanished, &Senders::on_owner_changed, nullptr,
                                              senders.get());
    if (result < 0) {
        return fail(error_from_errno(ErrorCode::Io, -result, "the bus cannot be watched for clients that leave"));
    }
    senders->match_.reset(slot);
    connection.flush();
    return senders;
}

void Senders::look_up(const std::string& unique_name, Found found)
{
    auto look_up = std::make_unique<LookUp>(LookUp{this, std::move(found), nullptr});
    auto* raw = look_up.get();
    running_.emplace(raw, std::move(look_up));

    sd_bus_message* message = nullptr;
    int result = sd_bus_message_new_method_call(connection_.bus(), &message, kBus, kBusPath, kBus,
                                                "GetConnectionCredentials");
    const auto call = MessageRef::adopt(message);
    if (result >= 0) {
        result = sd_bus_message_append_basic(message, 's', unique_name.c_str());
    }
    if (result >= 0) {
        sd_bus_slot* slot = nullptr;
        result = sd_bus_call_async(connection_.bus(), &slot, message, &Senders::on_credentials, raw, 0);
        raw->slot.reset(slot);
    }
    if (result < 0) {
        const auto node = running_.extract(raw);
        node.mapped()->found(fail(error_from_errno(ErrorCode::Io, -result, "the bus cannot be asked who a client is")));
        return;
    }
    connection_.flush();
}

int Senders::on_credentials(sd_bus_message* reply, void* userdata, sd_bus_error* /*error*/) noexcept
{
    auto* raw = static_cast<LookUp*>(userdata);
    try {
        const auto node = raw->senders->running_.extract(raw);
        if (const auto* error = sd_bus_message_get_error(reply); error != nullptr) {
            node.mapped()->found(fail(ErrorCode::Io, fmt::format("the bus does not say who a client is: {}",
                                                                 error->message == nullptr ? "" : error->message)));
        } else {
            node.mapped()->found(read_credentials(reply));
        }
    } catch (const std::exception& error) {
        write_log(LogLevel::Error, {}, error.what());
    }
    return 1;
}

int Senders::on_owner_changed(sd_bus_message* message, void* userdata, sd_bus_error* /*error*/) noexcept
{
    const char* name = nullptr;
    if (sd_bus_message_read_basic(message, 's', &name) <= 0 || *name != ':') {
        return 0;
    }
    try {
        static_cast<Senders*>(userdata)->vanished_(name);
    } catch (const std::exception& error) {
        write_log(LogLevel::Error, {}, error.what());
    }
    return 0;
}

}    // namespace rdmaqos::bus
