#include "tools/rdma-qosctl/verbs/verb.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/changes/daemon_calls.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

struct ReloadOptions {
    bool brief = false;    // success is left to the exit status
};

void add_options(CLI::App& command, ReloadOptions& options)
{
    command.add_flag("--brief", options.brief, "Leave what is wrong with the files to the daemon's log");
}

Result<ExitStatus> reload(const Context& context, const ReloadOptions& options)
{
    auto client = connect(context);
    if (!client) {
        return fail(client.error());
    }
    const auto reloaded = reload_files(context, *client, options.brief);
    if (!reloaded) {
        return fail(reloaded.error());
    }
    const ReloadView& reload = *reloaded;
    if (context.json) {
        Json json = reload_json(reload);
        json["revision"] = reload.revision;
        if (!reload.ended_trial.empty()) {
            json["ended-trial"] = reload.ended_trial;
        }
        print(to_text(json));
        return status_of(reload);
    }
    const std::string running = fmt::format("policy {} is running{}\n", printable(reload.revision),
                                            but_not_on_devices(reload));
    if (options.brief) {
        if (!but_not_on_devices(reload).empty()) {
            print_error(failures_text(reload) + running);
        }
        return status_of(reload);
    }
    const std::string trial = reload.ended_trial.empty()
                                  ? ""
                                  : fmt::format("the trial of policy {} is over\n", printable(reload.ended_trial));
    print(to_text(reload, context.screen.colour) + trial + running);
    return status_of(reload);
}

}    // namespace

extern const Verb kReloadVerb{
    .name = "reload",
    .summary = "Read all files again; on any error the running policy stays and the errors are printed",
    .examples = "  rdma-qosctl reload                             as `systemctl reload rdma-qosd` does",
    .prepare = with_options<ReloadOptions, add_options, reload>,
};

}    // namespace rdmaqos::ctl
