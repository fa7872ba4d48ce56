#include "daemon/bus/system_endpoint.h"

#include <utility>

#include <fmt/format.h>

#include "daemon/bus/objects.h"
#include "daemon/bus/polkit.h"
#include "daemon/service/limits.h"
#include "daemon/service/session_calls.h"
#include "lib/base/try.h"
#include "policy/model/identity.h"

namespace rdmaqos {
namespace {

// Calls of one sender that wait for its credentials; the bus itself allows 128 unanswered calls.
constexpr std::size_t kMostWaitingCalls = 256;

}    // namespace

Result<std::shared_ptr<const Identity>> identify(const bus::PeerProcess& process)
{
    auto identity = TRY(read_identity("/proc", {process.pid, process.uid, process.gids}));
    identity.administrator = bus::is_administrator(process);
    // The pidfd was there before /proc was read: if the process still runs, what was read is its own.
    if (!bus::is_running(process.pidfd) || (process.started_by && identity.start_time > *process.started_by)) {
        return fail(ErrorCode::Io, fmt::format("process {} of a client has ended", process.pid));
    }
    return std::make_shared<const Identity>(std::move(identity));
}

Result<std::unique_ptr<SystemEndpoint>> SystemEndpoint::create(BusContext& shared, bus::SenderProcesses& processes,
                                                               std::shared_ptr<bus::Connection> connected)
{
    std::unique_ptr<SystemEndpoint> endpoint(new SystemEndpoint(shared, std::move(connected)));
    auto senders = bus::Senders::create(*endpoint->connection, processes,
                                        [raw = endpoint.get()](const std::string& name) { raw->gone(name); });
    if (!senders) {
        return fail(std::move(senders).error());
    }
    endpoint->senders_ = std::move(*senders);
    TRY(install_objects(*endpoint));
    return endpoint;
}

SystemEndpoint::~SystemEndpoint()
{
    connection->close();
    for (const auto& [name, sender] : known_) {
        if (sender.peer) {
            context.service.session_calls().peer_gone(sender.peer->id);
        }
    }
}

const Peer* SystemEndpoint::known(sd_bus_message* message)
{
    const char* name = sd_bus_message_get_sender(message);
    if (name == nullptr) {
        return nullptr;
    }
    const auto sender = known_.find(name);
    return sender == known_.end() || !sender->second.peer ? nullptr : &*sender->second.peer;
}

// Properties and the like are served to everybody, so nobody need be known for them; but who calls pays.
Result<void> SystemEndpoint::admit(sd_bus_message* message)
{
    if (const Peer* peer = known(message); peer != nullptr) {
        return context.service.limits().take_request(peer->identity->account());
    }
    const char* name = sd_bus_message_get_sender(message);
    if (name == nullptr) {
        return {};    // the bus itself
    }
    const auto sender = known_.find(name);
    if (sender == known_.end()) {
        find_out(message, [](const Result<const Peer*>&) {});
    } else if (++sender->second.unknown_calls > kMostWaitingCalls) {
        return fail(ErrorCode::LimitReached, "too many calls before the first was answered; wait for answers");
    }
    return {};
}

void SystemEndpoint::find_out(sd_bus_message* message, Known done)
{
    const char* name = sd_bus_message_get_sender(message);
    if (name == nullptr) {
        done(fail(ErrorCode::Io, "the message has no sender"));
        return;
    }
    const auto [sender, is_new] = known_.try_emplace(name);
    if (sender->second.waiting.size() >= kMostWaitingCalls) {
        done(fail(ErrorCode::LimitReached, "too many calls before the first was answered; wait for answers"));
        return;
    }
    sender->second.waiting.push_back(std::move(done));
    if (is_new) {
        senders_->look_up(name, [this, key = std::string(name)](Result<bus::PeerProcess> process) {
            found(key, std::move(process));
        });
    }
}

void SystemEndpoint::found(const std::string& name, Result<bus::PeerProcess> process)
{
    const auto sender = known_.find(name);
    if (sender == known_.end()) {
        return;
    }
    auto waiting = std::exchange(sender->second.waiting, {});
    auto identity = process ? identify(*process) : Result<std::shared_ptr<const Identity>>(fail(process.error()));
    if (!identity) {
        known_.erase(sender);
        for (const auto& call : waiting) {
            call(fail(identity.error()));
        }
        return;
    }
    sender->second.peer = Peer{context.next_peer(), std::move(*identity)};
    sender->second.process = std::move(*process);
    auto exit = context.loop.on_exit_of(sender->second.process.pidfd.get(), [this, name] { gone(name); });
    if (exit) {
        sender->second.exit = std::move(*exit);
    }
    sender->second.counted = std::make_unique<CountedConnection>(context.counters);
    const Peer peer = *sender->second.peer;    // a call may end with the sender forgotten
    for (const auto& call : waiting) {
        call(&peer);
    }
}

void SystemEndpoint::gone(const std::string& name)
{
    const auto node = known_.extract(name);
    if (node.empty()) {
        return;
    }
    const Result<const Peer*> left = fail(ErrorCode::Io, "the client has left the bus");
    for (const auto& call : node.mapped().waiting) {
        call(left);
    }
    if (node.mapped().peer) {
        context.polkit->left(*node.mapped().peer->identity);
        context.service.session_calls().peer_gone(node.mapped().peer->id);
    }
}

}    // namespace rdmaqos
