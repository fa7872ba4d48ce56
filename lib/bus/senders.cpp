#include "lib/bus/senders.h"

#include <cerrno>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "lib/base/log.h"
#include "lib/base/try.h"
#include "lib/bus/credentials.h"

namespace rdmaqos::bus {
namespace {

constexpr const char* kOwnerChanged = "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
                                      "interface='org.freedesktop.DBus',member='NameOwnerChanged'";

// By its number, which may have been given to another since it connected.
Result<PeerProcess> process_with_number_of(Credentials credentials, std::uint64_t on_bus_by)
{
    if (!credentials.uid || credentials.pid <= 0) {
        return fail(ErrorCode::Io, "the bus does not say who a client is: it gave no user or no process");
    }
    auto opened = TRY(open_pidfd(credentials.pid));
    PeerProcess process;
    process.pid = credentials.pid;
    process.uid = *credentials.uid;
    process.gids = std::move(credentials.gids);
    process.pidfd = std::move(opened);
    process.started_by = on_bus_by;
    return process;
}

}    // namespace

struct Senders::LookUp {
    Senders* senders = nullptr;
    std::string name;
    Found found;
    SlotPtr slot;
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
    auto look_up = std::make_unique<LookUp>(LookUp{this, unique_name, std::move(found), nullptr});
    auto* raw = look_up.get();
    running_.emplace(raw, std::move(look_up));
    processes_.look_up(unique_name, [this, raw](Result<std::optional<PeerProcess>> process) {
        if (!process) {
            finish(*raw, fail(std::move(process).error()));
        } else if (*process) {
            finish(*raw, std::move(**process));
        } else {
            ask(*raw);
        }
    });
}

// On this connection, which is given no pidfd.
void Senders::ask(LookUp& look_up)
{
    auto call = new_credentials_call(connection_.bus(), look_up.name.c_str());
    if (!call) {
        finish(look_up, fail(std::move(call).error()));
        return;
    }
    const auto message = MessageRef::adopt(*call);
    sd_bus_slot* slot = nullptr;
    const int result = sd_bus_call_async(connection_.bus(), &slot, *call, &Senders::on_credentials, &look_up, 0);
    look_up.slot.reset(slot);
    if (result < 0) {
        finish(look_up, fail(error_from_errno(ErrorCode::Io, -result, "the bus cannot be asked who a client is")));
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
    auto credentials = read_credentials(reply);
    finish(look_up, credentials ? process_with_number_of(std::move(*credentials), on_bus_by(look_up.name))
                                : Result<PeerProcess>(fail(std::move(credentials).error())));
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
