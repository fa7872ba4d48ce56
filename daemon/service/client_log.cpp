#include "daemon/service/client_log.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rdmaqos {
namespace {

// The command is what the client calls itself.
std::string client_in_words(const Identity& client)
{
    const std::string program = client.command.empty() ? "" : fmt::format(" ({})", printable(client.command));
    const std::string unit = client.unit.empty() ? "" : fmt::format(" in {}", printable(client.unit));
    return fmt::format("client of uid {}, pid {}{}{}", client.uid, client.pid, program, unit);
}

std::string number_of(const Session& session)
{
    return fmt::format("{}", static_cast<std::uint64_t>(session.id));
}

}    // namespace

void log_attached(const Session& session)
{
    const Identity& client = *session.owner;
    const std::string level = session.choice.level == nullptr ? "" : session.choice.level->name;
    log_event(LogLevel::Info, LogEvent::ClientAttached, LogOrigin::user(client.uid),
              {{"SESSION", number_of(session)},
               {"LEVEL", level},
               {"UID", fmt::format("{}", client.uid)},
               {"PID", fmt::format("{}", client.pid)},
               {"UNIT", client.unit},
               {"COMMAND", client.command}},
              "{} has session {} in level {}{}", client_in_words(client), number_of(session),
              level.empty() ? "none" : level, session.adopted ? "; it did not register and was adopted" : "");
}

void log_gone(const Session& session)
{
    const Identity& client = *session.owner;
    log_event(LogLevel::Info, LogEvent::ClientGone, LogOrigin::user(client.uid),
              {{"SESSION", number_of(session)},
               {"LEVEL", session.choice.level == nullptr ? "" : session.choice.level->name},
               {"UID", fmt::format("{}", client.uid)},
               {"PID", fmt::format("{}", client.pid)},
               {"UNIT", client.unit}},
              "{} is gone: session {} ends with {}", client_in_words(client), number_of(session),
              counted(session.queue_pair_count(), "queue pair"));
}

void log_refused(const Identity& client, std::string_view what, const Error& why)
{
    log_event(LogLevel::Warning, LogEvent::ClientRefused, LogOrigin::user(client.uid),
              {{"UID", fmt::format("{}", client.uid)},
               {"PID", fmt::format("{}", client.pid)},
               {"UNIT", client.unit},
               {"COMMAND", client.command},
               {"ERROR", std::string(dbus_name(why.code))}},
              "{} {}: {}", client_in_words(client), what, printable(to_string(why)));
}

void log_refused(const Session& session, const std::vector<QueuePairResult>& results)
{
    const auto refused = [](const QueuePairResult& result) { return result.error.has_value(); };
    const auto first = std::ranges::find_if(results, refused);
    if (first == results.end()) {
        return;
    }
    const Identity& client = *session.owner;
    const auto more = std::count_if(first + 1, results.end(), refused);
    log_event(LogLevel::Warning, LogEvent::ClientRefused, LogOrigin::user(client.uid),
              {{"SESSION", number_of(session)},
               {"DEVICE", shortened(first->device)},
               {"QPN", fmt::format("{}", first->number)},
               {"UID", fmt::format("{}", client.uid)},
               {"PID", fmt::format("{}", client.pid)},
               {"UNIT", client.unit},
               {"COMMAND", client.command},
               {"ERROR", std::string(dbus_name(first->error->code))}},
              "{} is refused queue pair {} of {} in session {}: {}{}", client_in_words(client), first->number,
              printable(shortened(first->device)), number_of(session), printable(to_string(*first->error)),
              more == 0 ? "" : fmt::format(" ({} more of the same call are refused)", more));
}

Callback<RegisterReply> logged(std::shared_ptr<const Identity> client, const Request& request,
                               Callback<RegisterReply> done)
{
    return [client = std::move(client), level = request.level.value_or(""),
            done = std::move(done)](Result<RegisterReply> reply) {
        if (!reply) {
            log_refused(*client,
                        level.empty() ? "is refused a session"
                                      : fmt::format("is refused a session in level {}", printable(shortened(level))),
                        reply.error());
        }
        done(std::move(reply));
    };
}

}    // namespace rdmaqos
