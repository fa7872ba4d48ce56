#include "daemon/bus/authorize.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "daemon/bus/object_paths.h"
#include "daemon/bus/polkit.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

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

// Calls of management that change nothing.
constexpr std::array<std::string_view, 4> kOnlyRead{"TriedText", "RunningFiles", "Verify", "VerifyAll"};

void log_call(const Call& call, const Identity& client, std::string device)
{
    const char* member = sd_bus_message_get_member(call.message());
    const std::string method = member == nullptr ? "" : member;
    if (std::ranges::find(kOnlyRead, method) != kOnlyRead.end()) {
        return;
    }
    if (device.empty()) {
        const char* path = sd_bus_message_get_path(call.message());
        device = path == nullptr ? "" : device_of_path(path).value_or("");
    }
    device = printable(device);
    log_event(LogLevel::Notice, LogEvent::ManagementCall, {},
              {{"METHOD", method},
               {"DEVICE", device},
               {"UID", fmt::format("{}", client.uid)},
               {"PID", fmt::format("{}", client.pid)},
               {"UNIT", client.unit},
               {"COMMAND", client.command}},
              "{}{}{} is asked for by uid {}, pid {}{}", method, device.empty() ? "" : " of ", device, client.uid,
              client.pid, client.command.empty() ? "" : fmt::format(" ({})", printable(client.command)));
}

}    // namespace

void when_authorized(BusEndpoint& endpoint, const Call& call, const Peer& peer, Action action,
                     std::function<void()> then, const std::string& device)
{
    if (peer.identity->administrator) {
        log_call(call, *peer.identity, device);
        then();
        return;
    }
    // polkit allows uid 0 everything, and knows nothing of containers.
    if (peer.identity->uid == 0) {
        refuse(call, *peer.identity, name_of(action),
               Error{ErrorCode::AuthorizationRequired, 0,
                     "your uid is 0, but you are not the root of this host: you are in another user namespace, or lack "
                     "CAP_SYS_ADMIN and capabilities that rdma-qosd has, as in a container"});
        return;
    }
    const char* sender = endpoint.is_system_bus() ? sd_bus_message_get_sender(call.message()) : nullptr;
    const PolkitQuestion question{name_of(action), peer.identity, sender == nullptr ? "" : sender,
                                  sd_bus_message_get_allow_interactive_authorization(call.message()) > 0};
    endpoint.context.polkit->ask(
        question, [call, client = peer.identity, action, device, then = std::move(then)](const Result<void>& allowed) {
            if (!allowed) {
                refuse(call, *client, name_of(action), allowed.error());
            } else if (call.is_wanted()) {
                log_call(call, *client, device);
                then();
            }
        });
}

}    // namespace rdmaqos
