#include "tools/rdma-qosctl/verbs/verb.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/changes/daemon_calls.h"
#include "tools/rdma-qosctl/output/terminal.h"
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
    auto client = TRY(connect(context));
    const auto reloaded = TRY(reload_files(context, client, options.brief));
    if (!options.brief || context.json) {
        print_reload(context, reloaded);
    } else if (!but_not_on_devices(reloaded).empty()) {
        print_error(fmt::format("{}policy {} is running{}\n", failures_text(reloaded), printable(reloaded.revision),
                                but_not_on_devices(reloaded)));
    }
    return status_of(reloaded);
}

}    // namespace

extern const Verb kReloadVerb{
    .name = "reload",
    .summary = "Read all files again; on any error the running policy stays and the errors are printed",
    .examples = "  rdma-qosctl reload                             as `systemctl reload rdma-qosd` does",
    .prepare = with_options<ReloadOptions, add_options, reload>,
};

}    // namespace rdmaqos::ctl
