#include "tools/rdma-qosctl/verbs/verb.h"

#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/changes/daemon_calls.h"
#include "tools/rdma-qosctl/changes/password_agent.h"
#include "tools/rdma-qosctl/changes/replaced_file.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

struct ConfirmOptions {
    bool force = false;    // also over what somebody else has written to policy.yaml since the trial began
};

void add_options(CLI::App& command, ConfirmOptions& options)
{
    command.add_flag("--force", options.force, "Overwrite the file, also if it has changed since the trial began");
}

// The trial may have gone back to the files while they had the other text.
void agree_with_files(const Context& context)
{
    if (auto client = connect(context); client && !fetch_trial(*client)) {
        static_cast<void>(reload_files(context, *client));
    }
}

// Writes what is tried to policy.yaml, and tells the daemon.
Result<ExitStatus> confirm(const Context& context, const ConfirmOptions& options)
{
    auto client = TRY(connect(context));
    const auto trial = fetch_trial(client);
    if (!trial) {
        return fail(trial.error());
    }
    ReplacedFile file(context.root, kMainPolicyFile, "only root may confirm a trial");
    if (auto may = file.may_be_written(); !may) {
        return fail(may.error().with_context("not confirmed"));
    }
    const auto text = with_password(context, client,
                                    [&] { return call_manager<std::string>(client, "TriedText", {}); });
    if (!text) {
        return fail(text.error());
    }
    TRY(file.read());
    if (!options.force && file.before() != *text && file.revision() != trial->file_revision) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{} has changed since the trial began: not confirmed; `--force` overwrites it",
                                kMainPolicyFile));
    }
    if (file.before() != *text) {
        if (auto written = file.write(*text); !written) {
            return fail(written.error().with_context("not confirmed, " + file.put_back()));
        }
    }
    const auto confirmed = with_password(context, client, [&] {
        return client.call(kManagerPath, kManagerInterface, "Confirm", {bus::Value(trial->revision)});
    });
    if (!confirmed) {
        Error error = confirmed.error();
        error.message = fmt::format("not confirmed: {}; {}", error.message, file.put_back());
        agree_with_files(context);
        return fail(std::move(error));
    }
    // The trial may have begun with a refusal, and nobody have looked since.
    ReloadView now;
    const auto world = fetch_devices(client);
    if (world) {
        now.failures = open_failures(world->devices);
    } else {
        print_error(fmt::format("rdma-qosctl: warning: whether the devices have all of it is not known: {}\n",
                                to_string(world.error())));
    }
    print(context.json ? to_text({{"revision", trial->revision},
                                  {"file", kMainPolicyFile},
                                  {"failures", api::to_json(now.failures)}})
                       : failures_text(now) + fmt::format("policy {} is confirmed, and written to {}{}\n",
                                                          trial->revision, kMainPolicyFile, but_not_on_devices(now)));
    return status_of(now);
}

}    // namespace

extern const Verb kConfirmVerb{
    .name = "confirm",
    .summary = "Keep the policy that is being tried: write it to /etc/rdma-qos/policy.yaml",
    .examples = "  rdma-qosctl confirm\n"
                "  rdma-qosctl confirm --force                    although somebody has edited policy.yaml meanwhile",
    .prepare = with_options<ConfirmOptions, add_options, confirm>,
};

}    // namespace rdmaqos::ctl
