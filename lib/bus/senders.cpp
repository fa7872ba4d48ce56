#include "lib/bus/senders.h"

#include <cerrno>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "lib/base/log.h"
#include "lib/bus/names.h"

namespace rdmaqos::bus {
namespace {

constexpr const char* kOwnerChanged = "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
                                      "interface='org.freedesktop.DBus',member='NameOwnerChanged'";

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
    return sd_bus_message_skip(reply, "v");
}

// What GetConnectionCredentials answered, without the pidfd, which only the helper is given.
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
    if (!has_uid) {
        return fail(ErrorCode::Io, "the bus does not say who a client is: it gave no user");
    }
    return peer;
}

// By the pidfd of the process that connected; without one by its number, which may have been given to another since.
Result<void> pin(PeerProcess& peer, UniqueFd pidfd, std::uint64_t on_bus_by)
{
    if (pidfd) {
        auto number = number_of(pidfd);
        if (!number) {
            return fail(std::move(number).error());
        }
        peer.pid = *number;
        peer.pidfd = std::move(pidfd);
        return {};
    }
    if (peer.pid <= 0) {
        return fail(ErrorCode::Io, "the bus does not say who a client is: it gave no process");
    }
    auto opened = open_pidfd(peer.pid);
    if (!opened) {
        return fail(std::move(opened).error());
    }
    peer.pidfd = std::move(*opened);
    peer.started_by = on_bus_by;
    return {};
}

}    // namespace

struct Senders::LookUp {
    Senders* senders = nullptr;
    std::string name;
    Found found;
    SlotPtr slot;
    PeerProcess peer;
};

Senders::Senders(Connection& connection, SenderProcesses& processes, Vanished vanished)
    : connection_(connection), processes_(processes), vanished_(std::move(vanished))
{
}

Senders::~Senders()
{
    processes_.forget();
}

Result<std::unique_ptr<Senders>> Senders::create(Connection& connection, SenderProcesses& processes, Vanished vanished)
{
    std::unique_ptr<Senders> senders(new Senders(connection, processes, std::move(vanished)));
    sd_bus_slot* slot = nullptr;
    const int result = sd_bus_add_match_async(connection.bus(), &slot, kOwnerChanged, &Senders::on_owner_changed,
                                              &Senders::on_listening, senders.get());
    if (result < 0) {
        return fail(error_from_errno(ErrorCode::Io, -result, "the bus cannot be watched for clients that leave"));
    }
    senders->match_.reset(slot);
    connection.flush();
    return senders;
}

void Senders::look_up(const std::string& unique_name, Found found)
{
    auto look_up = std::make_unique<LookUp>(LookUp{this, unique_name, std::move(found), nullptr, {}});
    auto* raw = look_up.get();
    running_.emplace(raw, std::move(look_up));

    sd_bus_message* message = nullptr;
    int result = sd_bus_message_new_method_call(connection_.bus(), &message, names::kBus, names::kBusPath, names::kBus,
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
        finish(*raw, fail(error_from_errno(ErrorCode::Io, -result, "the bus cannot be asked who a client is")));
        return;
    }
    connection_.flush();
}

int Senders::on_credentials(sd_bus_message* reply, void* userdata, sd_bus_error* /*error*/) noexcept
{
    auto& look_up = *static_cast<LookUp*>(userdata);
    try {
        look_up.senders->take_credentials(look_up, reply);
    } catch (const std::exception& error) {
        write_log(LogLevel::Error, {}, error.what());
    }
    return 1;
}

void Senders::take_credentials(LookUp& look_up, sd_bus_message* reply)
{
    if (const auto* error = sd_bus_message_get_error(reply); error != nullptr) {
        finish(look_up, fail(ErrorCode::Io, fmt::format("the bus does not say who a client is: {}",
                                                        error->message == nullptr ? "" : error->message)));
        return;
    }
    auto peer = read_credentials(reply);
    if (!peer) {
        finish(look_up, std::move(peer));
        return;
    }
    look_up.peer = std::move(*peer);
    processes_.look_up(look_up.name, [this, &look_up](Result<UniqueFd> pidfd) {
        auto pinned = pidfd ? pin(look_up.peer, std::move(*pidfd), on_bus_by(look_up.name))
                            : Result<void>(fail(std::move(pidfd).error()));
        finish(look_up, pinned ? Result<PeerProcess>(std::move(look_up.peer))
                               : Result<PeerProcess>(fail(std::move(pinned).error())));
    });
}

void Senders::finish(LookUp& look_up, Result<PeerProcess> process)
{
    const auto node = running_.extract(&look_up);
    node.mapped()->found(std::move(process));
}

std::uint64_t Senders::on_bus_by(const std::string& unique_name) const
{
    const auto came = came_at_.find(unique_name);
    if (came != came_at_.end()) {
        return came->second;
    }
    return listening_since_ == 0 ? ticks_since_boot() : listening_since_;
}

int Senders::on_listening(sd_bus_message* reply, void* userdata, sd_bus_error* /*error*/) noexcept
{
    if (const auto* error = sd_bus_message_get_error(reply); error != nullptr) {
        write_log(LogLevel::Error, {}, "the bus does not announce clients that come and go");
        sd_bus_close(sd_bus_message_get_bus(reply));    // without it sessions would outlive their clients
        return 1;
    }
    static_cast<Senders*>(userdata)->listening_since_ = ticks_since_boot();
    return 1;
}

int Senders::on_owner_changed(sd_bus_message* message, void* userdata, sd_bus_error* /*error*/) noexcept
{
    const char* name = nullptr;
    const char* before = nullptr;
    const char* after = nullptr;
    if (sd_bus_message_read(message, "sss", &name, &before, &after) <= 0 || *name != ':') {
        return 0;
    }
    try {
        auto& senders = *static_cast<Senders*>(userdata);
        if (*after != '\0') {
            senders.came_at_.emplace(name, ticks_since_boot());
        } else {
            senders.came_at_.erase(name);
            senders.vanished_(name);
        }
    } catch (const std::exception& error) {
        write_log(LogLevel::Error, {}, error.what());
    }
    return 0;
}

}    // namespace rdmaqos::bus
