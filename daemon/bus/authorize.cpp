#include "daemon/bus/authorize.h"

#include <utility>

#include <fmt/format.h>

#include "daemon/bus/polkit.h"
#include "daemon/model/administrator.h"
#include "lib/base/log.h"

namespace rdmaqos {
namespace {

const char* name_of(Action action)
{
    switch (action) {
    case Action::Reload:
        return "org.rdmaqos1.reload";
    case Action::Try:
        return "org.rdmaqos1.try";
    case Action::Manage:
        break;
    }
    return "org.rdmaqos1.manage";
}

void refuse(const Call& call, const Identity& client, const char* action, const Error& why)
{
    // With interactive authorization the client may come again.
    if (why.code == ErrorCode::AuthorizationRequired) {
        log_event(LogLevel::Warning, LogEvent::RequestRefused, LogOrigin::user(client.uid),
                  {{"UID", fmt::format("{}", client.uid)},
                   {"PID", fmt::format("{}", client.pid)},
                   {"UNIT", client.unit},
                   {"ACTION", action}},
                  "uid {}, pid {} is refused {}: {}", client.uid, client.pid, action, why.message);
    }
    call.refuse(why);
}

}    // namespace

void when_authorized(BusEndpoint& endpoint, const Call& call, const Peer& peer, Action action,
                     std::function<void()> then)
{
    if (is_administrator(peer.identity->uid)) {
        then();
        return;
    }
    const char* sender = endpoint.is_system_bus() ? sd_bus_message_get_sender(call.message()) : nullptr;
    const PolkitQuestion question{name_of(action), peer.identity, sender == nullptr ? "" : sender,
                                  sd_bus_message_get_allow_interactive_authorization(call.message()) > 0};
    endpoint.context.polkit->ask(
        question, [call, client = peer.identity, action, then = std::move(then)](const Result<void>& allowed) {
            if (!allowed) {
                refuse(call, *client, name_of(action), allowed.error());
            } else if (call.is_wanted()) {
                then();
            }
        });
}

}    // namespace rdmaqos
