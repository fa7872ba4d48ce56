// What the log says of clients: who came, who was refused and why, who left.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/loop/callback.h"
#include "daemon/model/session.h"
#include "daemon/service/session_table.h"

namespace rdmaqos {

void log_attached(const Session& session);
void log_gone(const Session& session);
// `what`: "is refused a session in level gold".
void log_refused(const Identity& client, std::string_view what, const Error& why);
// In one line, if any of these queue pairs was refused.
void log_refused(const Session& session, const std::vector<QueuePairResult>& results);

// `done`, which also logs if a session is refused.
[[nodiscard]] Callback<RegisterReply> logged(std::shared_ptr<const Identity> client, const Request& request,
                                             Callback<RegisterReply> done);

}    // namespace rdmaqos
