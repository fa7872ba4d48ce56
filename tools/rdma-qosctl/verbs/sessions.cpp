#include "tools/rdma-qosctl/verbs/verb.h"

#include <algorithm>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/chosen.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::size_t kSessionsShown = 100;

struct SessionsOptions {
    std::string pid;      // empty: all
    std::string level;    // empty: all
    bool all = false;     // also on a terminal
};

void add_options(CLI::App& command, SessionsOptions& options)
{
    command.add_option("PID", options.pid, "Only sessions of this process; none: all");
    command.add_option("--level", options.level, "Only sessions with something in this level")->type_name("LEVEL");
    command.add_flag("--all", options.all, "On a terminal too, not only the first 100 and theirs");
}

Result<ExitStatus> sessions(const Context& context, const SessionsOptions& options)
{
    const auto pid = parse_number(options.pid);
    if (!options.pid.empty() && !pid) {
        return fail(ErrorCode::InvalidArgument, fmt::format("`{}` is not a process id", printable(options.pid)));
    }
    auto client = TRY(connect(context));
    const std::size_t most = context.on_terminal && !options.all ? kSessionsShown : 0;
    // One more than is shown, to know that there are more.
    const auto sessions = TRY(
        fetch_sessions(client, {.pid = pid ? std::optional(static_cast<std::uint32_t>(*pid)) : std::nullopt,
                                .level = options.level,
                                .most = most == 0 || context.json ? 0 : most + 1}));
    print(context.json ? to_text(sessions_json(sessions)) : render_sessions(sessions, most, context.screen));
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kSessionsVerb{
    .name = "sessions",
    .summary = "List who has registered, and the level and leaf of each queue pair",
    .examples = "  rdma-qosctl sessions\n"
                "  rdma-qosctl sessions 4711                      of this process",
    .paged = true,
    .prepare = with_options<SessionsOptions, add_options, sessions>,
};

}    // namespace rdmaqos::ctl
